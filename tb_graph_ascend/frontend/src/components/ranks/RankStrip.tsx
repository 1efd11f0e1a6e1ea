/* Steps × ranks as a strip of small cells; ranks that look alike are one row. One tab stop: arrows
 * move between the cells, Enter goes there. */

import { type CSSProperties, type KeyboardEvent, useEffect, useRef, useState } from "react";
import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";

import { ranksQuery } from "../../api/queries";
import type { RankStrip as Strip, StripCell, StripRow } from "../../api/types";
import { scoreText } from "../../text/numbers";
import { rampFill } from "../../graph/ramp";
import { useDatabase } from "../../hooks/useDatabase";
import { openPair } from "../../state/actions";
import { rangesText } from "../../state/ranges";
import { useApp } from "../../state/store";
import { type StripPlace, earliestRow, moveInStrip, placeIn, rankAt } from "../../state/strip";

/** Pixels of a cell with its gap; the onset is scrolled to with some steps before it. */
const PITCH = 17;
const BEFORE = 3;

export function RankStrip() {
  const db = useApp((state) => state.db);
  const { data: database } = useDatabase();
  const several = (database?.pairs.length ?? 0) > 1;
  const strip = useQuery({ ...ranksQuery(db ?? ""), enabled: db !== null && several });
  if (!several || !strip.data || strip.data.rows.length === 0) return null;
  return <Grid strip={strip.data} />;
}

function Grid({ strip }: { strip: Strip }) {
  const { t } = useTranslation();
  const step = useApp((state) => state.step);
  const rank = useApp((state) => state.rank);
  const here = placeIn(strip, step, rank);
  const [moved, setMoved] = useState<StripPlace | null>(null);
  const active = moved ?? here ?? { row: 0, column: 0 };
  const scroll = useRef<HTMLDivElement>(null);
  const onset = strip.onset === null ? 0 : strip.steps.indexOf(strip.onset);
  useEffect(() => {
    if (scroll.current) scroll.current.scrollLeft = Math.max(0, onset - BEFORE) * PITCH;
  }, [onset]);
  const earliest = earliestRow(strip);
  const longest = Math.max(...strip.rows.map(({ ranks }) => ranksLabel(t, ranks).length));
  const go = ({ row, column }: StripPlace): void => {
    const chosen = rankAt(strip, row, rank);
    const wanted = strip.steps[column];
    if (chosen !== null && wanted !== undefined && strip.rows[row]?.cells[column]) {
      setMoved(null);
      void openPair(wanted, chosen);
    }
  };
  const onKey = (event: KeyboardEvent): void => {
    if (event.key === "Enter" || event.key === " ") go(active);
    else {
      const next = moveInStrip(strip, active, event.key);
      if (!next) return;
      setMoved(next);
      document.getElementById(cellId(next))?.scrollIntoView({ block: "nearest", inline: "nearest" });
    }
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <section className="rank-strip" aria-label={t("strip.label")}>
      <p className="rank-strip-head">
        <span className="muted">{stepsText(strip, t)}</span>
        {onsetText(strip, t) !== "" && <strong className="rank-onset">{onsetText(strip, t)}</strong>}
      </p>
      <div
        className="rank-strip-grid"
        role="grid"
        tabIndex={0}
        aria-label={t("strip.grid")}
        aria-activedescendant={cellId(active)}
        ref={scroll}
        style={{ "--ranks": `${longest}em` } as CSSProperties}
        onKeyDown={onKey}
        onBlur={() => setMoved(null)}
      >
        {strip.rows.map((row, index) => (
          <Row key={row.ranks[0]} row={row} index={index} steps={strip.steps} here={here} active={active} go={go} earliest={earliest} />
        ))}
      </div>
    </section>
  );
}

interface RowProps {
  row: StripRow;
  index: number;
  steps: number[];
  here: StripPlace | null;
  active: StripPlace;
  go: (place: StripPlace) => void;
  /** The row that begins before all others; −1 where they begin together. */
  earliest: number;
}

function Row({ row, index, steps, here, active, go, earliest }: RowProps) {
  const { t } = useTranslation();
  const ranks = rangesText(row.ranks);
  return (
    <div role="row" className="rank-strip-row">
      <span role="rowheader" className="rank-strip-ranks" title={ranks}>
        {ranksLabel(t, row.ranks)}
      </span>
      {row.cells.map((cell, column) => (
        // The keys of the grid do what a click does.
        // eslint-disable-next-line jsx-a11y/click-events-have-key-events
        <span
          key={steps[column]}
          id={cellId({ row: index, column })}
          role="gridcell"
          tabIndex={-1}
          className={cellClass(cell, same(active, index, column), row.first === steps[column] && index === earliest)}
          aria-selected={here !== null && same(here, index, column)}
          aria-label={cellText(t, cell, steps[column] ?? 0, ranks)}
          title={cellText(t, cell, steps[column] ?? 0, ranks)}
          style={cell?.worst != null && cell.look !== "agrees" ? { background: rampFill(cell.worst) } : undefined}
          onClick={() => go({ row: index, column })}
        />
      ))}
    </div>
  );
}

function ranksLabel(t: Translate, ranks: readonly number[]): string {
  return t("strip.ranks", { count: ranks.length, ranks: rangesText(ranks) });
}

type Translate = ReturnType<typeof useTranslation>["t"];

function stepsText({ steps, onset }: Strip, t: Translate): string {
  const facts = { from: steps[0], to: steps[steps.length - 1], onset };
  if (steps.length === 1) return t("strip.step", { step: facts.from });
  return t(onset === null ? "strip.steps" : "strip.onset", facts);
}

/** `rank 5 begins at 58 % of the step; ranks 0–4, 6–7 are first different at 76 % of the step`; empty where all
 * begin together, or none does. */
function onsetText(strip: Strip, t: Translate): string {
  if (earliestRow(strip) < 0) return "";
  const [first, ...others] = strip.rows.filter((row) => row.first !== null);
  if (!first) return "";
  const place = (row: StripRow): string =>
    row.begins === null || row.first !== first.first
      ? t("strip.step", { step: row.first })
      : t("strip.share", { share: Math.floor(100 * row.begins) });
  const began = t("strip.begins", { count: first.ranks.length, ranks: rangesText(first.ranks), place: place(first) });
  // Later is no proof that they follow: a rank may have a fault of its own.
  const later = others
    .slice(0, 2)
    .map((row) => t("strip.later", { count: row.ranks.length, ranks: rangesText(row.ranks), place: place(row) }));
  return [began, ...later, ...(others.length > 2 ? ["…"] : [])].join(t("strip.then"));
}

function cellText(t: Translate, cell: StripCell | null, step: number, ranks: string): string {
  if (!cell) return t("strip.none", { step, ranks });
  if (cell.look === "failed" || cell.look === "missing" || cell.look === "unscored") {
    return t(`strip.${cell.look}`, { step, ranks });
  }
  return t("strip.cell", { step, ranks, score: scoreText(cell.worst), count: cell.divergent });
}

function cellClass(cell: StripCell | null, active: boolean, onset: boolean): string {
  return `strip-cell ${cell?.look ?? "none"}${active ? " active" : ""}${onset ? " onset" : ""}`;
}

function cellId({ row, column }: StripPlace): string {
  return `strip-${row}-${column}`;
}

function same(place: StripPlace, row: number, column: number): boolean {
  return place.row === row && place.column === column;
}
