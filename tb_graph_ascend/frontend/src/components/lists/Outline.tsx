/* The modules of both runs as one tree, whatever ran when: how much is in each, and how bad it is. */

import { useVirtualizer } from "@tanstack/react-virtual";
import { type KeyboardEvent, useEffect, useRef, useSyncExternalStore } from "react";
import { useTranslation } from "react-i18next";

import { useNothingHere } from "../../hooks/useDatabase";
import { useSession } from "../../hooks/useSession";
import { guarded, selectNode } from "../../state/actions";
import type { OutlineView } from "../../state/outline";
import { useApp } from "../../state/store";
import { FailureNotice } from "../parts/FailureNotice";
import { OutlineLine } from "./OutlineLine";

const ROW = 26;
/** Letters that follow each other within this are one word. */
const TYPING_MS = 700;

export function Outline() {
  const { t } = useTranslation();
  const session = useSession();
  const nothing = useNothingHere();
  if (nothing !== null) return <p className="message">{nothing}</p>;
  if (!session) return <p className="message">{t("loading")}</p>;
  const { db, step, rank } = session.diff.place;
  return <OutlineTree key={`${db} ${step} ${rank}`} outline={session.outline} comparison={session.comparison} />;
}

function OutlineTree({ outline, comparison }: { outline: OutlineView; comparison: boolean }) {
  const { t } = useTranslation();
  useSyncExternalStore(outline.subscribe, outline.snapshot);
  const selected = useApp((state) => state.selected);
  const scroll = useRef<HTMLDivElement>(null);
  const typed = useRef({ text: "", at: 0 });
  const rows = useVirtualizer({
    count: outline.total,
    getScrollElement: () => scroll.current,
    estimateSize: () => ROW,
    overscan: 10,
  });
  const { cursor } = outline;
  const items = rows.getVirtualItems();
  const [first, last] = [items[0]?.index ?? 0, items[items.length - 1]?.index ?? 0];
  useEffect(() => outline.want(first, last), [outline, first, last]);
  useEffect(() => void guarded(() => outline.retry(), () => outline.look(selected)), [outline, selected]);
  useEffect(() => rows.scrollToIndex(cursor), [rows, cursor, outline.total]);
  if (outline.error !== null) return <FailureNotice error={outline.error} retry={() => outline.retry()} />;

  // Only what is in view is in the page, and only that can be pointed at.
  const drawn = items.some(({ index }) => index === cursor) && outline.at(cursor) !== undefined;
  const onKey = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const row = outline.at(outline.cursor);
    if (event.key === "Enter" || event.key === " ") {
      if (row) void selectNode(row.node);
    } else if (event.key.length === 1 && event.key !== "?") typeAhead(outline, typed.current, event.key);
    else if (!outline.key(event.key)) return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <>
      <OutlineTools outline={outline} comparison={comparison} />
      <div
        className="scroll outline"
        ref={scroll}
        role="tree"
        aria-label={t("outline.label")}
        tabIndex={0}
        aria-activedescendant={drawn ? `outline-${cursor}` : undefined}
        onKeyDown={onKey}
      >
        <div style={{ height: rows.getTotalSize() }} role="none">
          {items.map(({ index, start }) => (
            <OutlineLine
              key={index}
              index={index}
              row={outline.at(index)}
              start={start}
              height={ROW}
              outline={outline}
              comparison={comparison}
            />
          ))}
        </div>
      </div>
    </>
  );
}

/** Letters go to the next title that begins with them; one letter again and again goes round. */
function typeAhead(outline: OutlineView, typed: { text: string; at: number }, letter: string): void {
  const now = Date.now();
  const before = now - typed.at < TYPING_MS ? typed.text : "";
  const text = before === letter ? letter : before + letter;
  Object.assign(typed, { text, at: now });
  // A longer word may be that of the row one is on.
  const after = text.length === 1 ? outline.cursor : outline.cursor - 1;
  void guarded(() => outline.retry(), () => outline.find(text, after));
}

function OutlineTools({ outline, comparison }: { outline: OutlineView; comparison: boolean }) {
  const { t } = useTranslation();
  return (
    <div className="outline-tools">
      <span className="count">
        {t("outline.modules", { count: outline.modules })}
        {comparison && outline.divergent + Number(outline.outside === 0) > 0 && ` · ${t("outline.divergent", { count: outline.divergent })}`}
        {comparison && outline.outside > 0 && ` · ${t("outline.outside", { count: outline.outside })}`}
      </span>
      {comparison && (
        <label className="check">
          <input
            type="checkbox"
            checked={outline.filtered}
            onChange={({ target }) => void outline.filter(target.checked)}
          />
          {t("outline.filter")}
        </label>
      )}
      <div className="outline-heads" aria-hidden>
        <span>{t("outline.module")}</span>
        <span className="outline-number">{t("outline.nodes")}</span>
        {comparison && <span className="outline-number differ">{t("outline.differ")}</span>}
        {comparison && <span className="outline-worst">{t("outline.worst")}</span>}
      </div>
      {comparison && outline.filtered && outline.total === 0 && <p className="message">{t("outline.none")}</p>}
      {comparison && outline.filtered && outline.divergent === 0 && outline.outside > 0 && <p className="message">{t("outline.onlyOutside")}</p>}
    </div>
  );
}
