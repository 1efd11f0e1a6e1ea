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
  const { answer, hits, total, asked, current } = useSearch();
  const [chosen, setChosen] = useState({ asked: "", index: -1 });
  const active = chosen.asked === asked ? chosen.index : -1;
  const [open, setOpen] = useState(false);
  const shut = useCallback(() => setOpen(false), []);
  const eager = useRef<0 | 1 | -1>(0);
  const box = useRef<HTMLDivElement>(null);
  useLeave(box, shut);
  const input = useRef<HTMLInputElement>(null);

  const choose = (index: number): void => {
    setChosen({ asked, index });
    const hit = hits[index];
    if (hit) void selectNode(hit.id);
  };
  const go = (shift: 1 | -1): void => {
    eager.current = !current && answer.isFetching ? shift : 0;
    if (!current || hits.length === 0) return;
    const start = active < 0 && shift < 0 ? 0 : active;
    const next = (start + shift + hits.length) % hits.length;
    choose(next);
    if (next > hits.length - 20 && answer.hasNextPage) void answer.fetchNextPage();
  };
  // Enter pressed before the answer came: go to its first hit, never to one of an older text.
  useEffect(() => {
    if (eager.current !== 0 && current) go(eager.current);
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
          eager.current = 0;
          setOpen(true);
        }}
      />
      {query !== "" && (
        <span className="search-count" role="status">
          {countText(t, total, active, answer.isFetching && !current)}
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
            choose(index);
            setOpen(false);
          }}
        />
      )}
    </div>
  );
}

function countText(t: TFunction, total: number, active: number, pending: boolean): string {
  if (pending) return "…";
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
