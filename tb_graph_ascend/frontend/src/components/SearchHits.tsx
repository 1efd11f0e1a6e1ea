/* The hits under the search box, as a virtual list. */

import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useRef } from "react";
import { useTranslation } from "react-i18next";

import type { Node } from "../api/types";
import { NodeName } from "./NodeName";
import { ScoreChip } from "./ScoreChip";

interface Props {
  hits: Node[];
  active: number;
  error: Error | null;
  pending: boolean;
  choose: (index: number) => void;
  more: () => void;
}

const ROW = 30;

export function SearchHits({ hits, active, error, pending, choose, more }: Props) {
  const { t } = useTranslation();
  const scroll = useRef<HTMLDivElement>(null);
  const rows = useVirtualizer({
    count: hits.length,
    getScrollElement: () => scroll.current,
    estimateSize: () => ROW,
    overscan: 8,
  });
  const items = rows.getVirtualItems();
  const last = items[items.length - 1]?.index ?? 0;
  useEffect(() => {
    if (hits.length > 0 && last >= hits.length - 10) more();
    // `more` is new on each rendering; only reaching the end shall load.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [last, hits.length]);
  useEffect(() => {
    if (active >= 0) rows.scrollToIndex(active);
  }, [active, rows]);

  if (error) return <p className="search-hits message">{error.message}</p>;
  if (hits.length === 0) {
    return <p className="search-hits message">{pending ? t("loading") : t("search.none")}</p>;
  }
  return (
    <div className="search-hits" ref={scroll} id="search-hits" role="listbox" aria-label={t("search.label")}>
      <div style={{ height: rows.getTotalSize() }}>
        {items.map(({ index, start }) => {
          const hit = hits[index];
          if (!hit) return null;
          return (
            <div
              key={hit.id}
              id={`hit-${index}`}
              role="option"
              aria-selected={index === active}
              tabIndex={-1}
              className="row"
              style={{ transform: `translateY(${start}px)`, height: ROW }}
              onMouseDown={(event) => {
                event.preventDefault();
                choose(index);
              }}
            >
              <span className={`side-dot ${hit.side}`} title={t(`side.${hit.side}`)} />
              <NodeName node={hit} full />
              <ScoreChip score={hit.score} />
            </div>
          );
        })}
      </div>
    </div>
  );
}
