/* The query of the nodes table: typed here, answered in the table; Enter steps through its rows. */

import type { TFunction } from "i18next";
import { ChevronDown, ChevronUp, Search, X } from "lucide-react";
import { type KeyboardEvent, useEffect, useRef } from "react";
import { useTranslation } from "react-i18next";

import { useDatabase } from "../../hooks/useDatabase";
import { useNodeTable } from "../../hooks/useNodeTable";
import { prepareSearch } from "../../state/prepare";
import { chooseRow, nextRow, rowIndex, stepFrom, useRowCursor } from "../../state/rowcursor";
import { useApp } from "../../state/store";

export function SearchBox() {
  const { t } = useTranslation();
  const query = useApp((state) => state.query);
  const set = useApp((state) => state.set);
  // Of one run there are no scores to ask for.
  const comparison = useDatabase().data?.comparison !== false;
  const session = useApp((state) => state.session);
  const { answer, rows, total, asked, current } = useNodeTable(query !== "");
  const cursor = useRowCursor();
  const active = rowIndex(cursor, asked, rows);
  const eager = useRef<0 | 1 | -1>(0);

  const go = (shift: 1 | -1): void => {
    eager.current = !current && answer.isFetching ? shift : 0;
    const next = current ? nextRow(stepFrom(cursor, asked, rows, shift), shift, rows.length) : null;
    const row = next === null ? undefined : rows[next];
    if (next === null || !row) return;
    chooseRow(asked, next, row);
    if (next > rows.length - 20 && answer.hasNextPage) void answer.fetchNextPage();
  };
  // Enter pressed before the answer came: go to its first row, never to one of an older query.
  useEffect(() => {
    if (eager.current !== 0 && current) go(eager.current);
  });
  const onKey = (event: KeyboardEvent<HTMLInputElement>): void => {
    if (event.key === "ArrowDown") go(1);
    else if (event.key === "ArrowUp") go(-1);
    else if (event.key === "Enter") go(event.shiftKey ? -1 : 1);
    else if (event.key === "Escape") leave(event.currentTarget);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const leave = (input: HTMLInputElement): void => {
    // The next letter is a key again and no part of a query.
    set({ query: "" });
    if (session?.diff.pane) session.diff.pane.focus();
    else input.blur();
  };
  return (
    <div className="search" role="search">
      <Search aria-hidden size={15} className="search-icon" />
      <input
        id="search"
        type="text"
        aria-label={t("search.label")}
        aria-invalid={answer.isError}
        autoComplete="off"
        spellCheck={false}
        placeholder={t(comparison ? "search.placeholder" : "search.placeholderSingle")}
        title={t("search.language")}
        value={query}
        onFocus={() => {
          if (session) prepareSearch(session);
          if (query !== "") set({ leftTab: "nodes" });
        }}
        onKeyDown={onKey}
        onChange={({ target }) => {
          set({ query: target.value, leftTab: "nodes" });
          eager.current = 0;
        }}
      />
      {query !== "" && (
        <>
          <span className="search-count" role="status">
            {answer.isError ? "!" : countText(t, total, active, answer.isFetching && !current)}
          </span>
          <SearchButton label={t("search.previous")} icon={ChevronUp} onClick={() => go(-1)} />
          <SearchButton label={t("search.next")} icon={ChevronDown} onClick={() => go(1)} />
          <SearchButton label={t("search.clear")} icon={X} onClick={() => set({ query: "" })} />
        </>
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
