/* Search over the names of both sides: count, step through, or choose from the list. */

import type { TFunction } from "i18next";
import { ChevronDown, ChevronUp, Regex, Search, X } from "lucide-react";
import { type KeyboardEvent, useCallback, useEffect, useRef, useState } from "react";
import { useTranslation } from "react-i18next";

import { useLeave } from "../hooks/useLeave";
import { useSearch } from "../hooks/useSearch";
import { selectNode } from "../state/actions";
import { prepareSearch } from "../state/prepare";
import { useApp } from "../state/store";
import { SearchHits } from "./SearchHits";

export function SearchBox() {
  const { t } = useTranslation();
  const query = useApp((state) => state.query);
  const regex = useApp((state) => state.regex);
  const set = useApp((state) => state.set);
  const session = useApp((state) => state.session);
  const { answer, hits, total } = useSearch();
  const [active, setActive] = useState(-1);
  const [open, setOpen] = useState(false);
  const shut = useCallback(() => setOpen(false), []);
  const eager = useRef(false);
  const box = useRef<HTMLDivElement>(null);
  useLeave(box, shut);
  const input = useRef<HTMLInputElement>(null);

  const go = (shift: number): void => {
    eager.current = hits.length === 0 && answer.isFetching;
    if (hits.length === 0) return;
    const next = (active + shift + hits.length) % hits.length;
    setActive(next);
    const hit = hits[next];
    if (hit) void selectNode(hit.id);
    if (next > hits.length - 20 && answer.hasNextPage) void answer.fetchNextPage();
  };
  // Enter pressed before the answer came: go to the first hit once it is there.
  useEffect(() => {
    if (eager.current && hits.length > 0) go(1);
  });
  const onKey = (event: KeyboardEvent): void => {
    if (event.key === "ArrowDown") go(1);
    else if (event.key === "ArrowUp") go(-1);
    else if (event.key === "Enter") go(event.shiftKey ? -1 : 1);
    else if (event.key === "Escape") close();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const close = (): void => {
    if (open) setOpen(false);
    else {
      set({ query: "" });
      input.current?.blur();
    }
  };
  return (
    <div className="search" ref={box}>
      <Search aria-hidden size={15} className="search-icon" />
      <input
        ref={input}
        id="search"
        type="text"
        role="combobox"
        aria-label={t("search.label")}
        aria-expanded={open && query !== ""}
        aria-controls="search-hits"
        aria-activedescendant={active >= 0 ? `hit-${active}` : undefined}
        aria-autocomplete="list"
        autoComplete="off"
        spellCheck={false}
        placeholder={t("search.placeholder")}
        value={query}
        onFocus={() => {
          setOpen(true);
          if (session) prepareSearch(session);
        }}
        onKeyDown={onKey}
        onChange={({ target }) => {
          set({ query: target.value });
          setActive(-1);
          setOpen(true);
        }}
      />
      {query !== "" && (
        <span className="search-count" role="status">
          {countText(t, total, active, answer.isFetching)}
        </span>
      )}
      {query !== "" && (
        <>
          <SearchButton label={t("search.previous")} icon={ChevronUp} onClick={() => go(-1)} />
          <SearchButton label={t("search.next")} icon={ChevronDown} onClick={() => go(1)} />
          <SearchButton label={t("search.clear")} icon={X} onClick={() => set({ query: "" })} />
        </>
      )}
      <button
        type="button"
        className="icon small"
        aria-pressed={regex}
        aria-label={t("search.regex")}
        title={t("search.regex")}
        onClick={() => set({ regex: !regex })}
      >
        <Regex aria-hidden size={15} />
      </button>
      {open && query !== "" && (
        <SearchHits
          hits={hits}
          active={active}
          error={answer.error}
          pending={answer.isFetching}
          more={() => void answer.fetchNextPage()}
          choose={(index) => {
            setActive(index);
            setOpen(false);
            const hit = hits[index];
            if (hit) void selectNode(hit.id);
          }}
        />
      )}
    </div>
  );
}

function countText(t: TFunction, total: number, active: number, fetching: boolean): string {
  if (fetching && total === 0) return "…";
  if (active >= 0) return t("search.position", { position: active + 1, count: total });
  return t("search.count", { count: total });
}

interface ButtonProps {
  label: string;
  icon: typeof X;
  onClick: () => void;
}

function SearchButton({ label, icon: Icon, onClick }: ButtonProps) {
  return (
    <button type="button" className="icon small" aria-label={label} title={label} onClick={onClick}>
      <Icon aria-hidden size={15} />
    </button>
  );
}
