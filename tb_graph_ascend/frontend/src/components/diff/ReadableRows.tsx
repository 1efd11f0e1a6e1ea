/* The rows in view as rows of a tree grid, each where its picture is on the canvas. They have names
 * and states for screen readers and for tests, no ink, and follow when the view rests. */

import type { TFunction } from "i18next";
import { type CSSProperties, memo } from "react";
import { useTranslation } from "react-i18next";

import type { DiffRow, RowSide } from "../../api/types";
import type { Window } from "../../graph/diffcanvas";
import type { Shown } from "../../hooks/useDiffView";
import type { Column, Columns } from "../../graph/grid";
import { wordOf } from "../../graph/gutterpaint";
import type { DiffTexts } from "../../graph/scene";
import { scoreText, titleOf } from "../../graph/words";
import { useBegins } from "../../hooks/useAnswer";
import { textsOf } from "../../i18n/difftexts";
import type { DiffView } from "../../state/diffview";

interface Props {
  diff: DiffView;
  shown: Shown;
  columns: Columns;
  selected: number | null;
}

/** More rows than this are seen from afar, where nobody reads them. */
const MOST = 120;

export function rowElementId(place: number): string {
  return `diff-row-${place}`;
}

/** Whether a row has its element: only what is in view has one. */
export function isReadable(place: number, shown: Window): boolean {
  return place >= shown.first && place < lastOf(shown);
}

function lastOf(shown: Window): number {
  return Math.min(shown.last, shown.first + MOST);
}

/** Drawn anew when the view rests, not with each page that comes in on the way. */
export const ReadableRows = memo(function ReadableRows({ diff, shown, columns, selected }: Props) {
  const { t } = useTranslation();
  const texts = textsOf(t, useBegins());
  const last = lastOf(shown);
  const places = Array.from({ length: Math.max(0, last - shown.first) }, (_, index) => shown.first + index);
  return (
    <div className="diff-rows" role="rowgroup">
      {places.map((place) => {
        const row = diff.pages.at(place);
        if (!row) return null;
        const y = Math.round(place * shown.rowHeight - shown.top);
        const own = row.fold === 0 && selected !== null;
        return (
          <div
            key={place}
            id={rowElementId(place)}
            role="row"
            aria-rowindex={place + 1}
            aria-level={row.depth + 1}
            aria-expanded={row.children > 0 || row.fold !== 0 ? row.open : undefined}
            aria-selected={own && (row.problem?.id === selected || row.benchmark?.id === selected)}
            data-word={row.word}
            style={{ top: y, height: shown.rowHeight }}
          >
            <Cell name="problem" column={columns.problem} label={sideText(row, row.problem, t)} />
            {columns.gutter.width > 0 && <Cell name="gutter" column={columns.gutter} label={gutterText(row, texts)} />}
            {columns.benchmark.width > 0 && (
              <Cell name="benchmark" column={columns.benchmark} label={sideText(row, row.benchmark, t)} />
            )}
          </div>
        );
      })}
    </div>
  );
});

function Cell({ name, column, label }: { name: string; column: Column; label: string }) {
  const style: CSSProperties = { left: column.x, width: column.width };
  return <div role="gridcell" data-column={name} aria-label={label} style={style} />;
}

function sideText(row: DiffRow, side: RowSide | null, t: TFunction): string {
  if (!side) return t("diff.gap");
  if (row.kind === "collection") return t("diff.calls", { count: side.calls });
  const parts = [titleOf(row, side), side.call === null || row.fold !== 0 ? "" : `#${side.call}`];
  if (row.fold !== 0) parts.push(`× ${Math.abs(row.fold)}`);
  if (row.direction === "backward") parts.push(t("direction.backward"));
  return parts.filter(Boolean).join(" ");
}

function gutterText(row: DiffRow, texts: DiffTexts): string {
  const word = wordOf(row, texts);
  return [scoreText(row.input_score), "→", scoreText(row.score), word].join(" ").trim();
}
