/* The edges of a picture between the boxes that can be seen, as `view/diff/drawn.py` has them. */

import type { GraphEdge } from "../api/types";
import { NOTHING, at } from "./blocks";
import type { PictureCells, RowCells } from "./pair";
import type { Visible } from "./visible";

/** How an edge is known, the least certain first. */
const KNOWN: readonly GraphEdge["known"][] = ["next", "order", "numbers", "values", "recorded"];

/** An edge between two places: of edges from the rows `first` to `last`; the best leads from `source`. */
export interface Arrow {
  producer: number;
  consumer: number;
  known: GraphEdge["known"];
  value: number;
  first: number;
  last: number;
  source: number;
}

type Drawn = Pick<RowCells, "children" | "parent" | "last"> & PictureCells;

/** The edges between visible rows, each once and as it is known best. */
export function arrowsOf(rows: Drawn, visible: Visible): Arrow[] {
  const found = new Map<number, Arrow & { code: number }>();
  rows.drawnProducer.forEach((producer, edge) => {
    const consumer = at(rows.drawnConsumer, edge);
    if ([producer, consumer].some((row) => visible.isOpen[row] === 1 && at(rows.children, row) > 0)) return;
    const [from, to] = [at(visible.place, producer), at(visible.place, consumer)];
    if (from === to || from === NOTHING || to === NOTHING) return;
    const key = from * (visible.row.length + 1) + to;
    const code = at(rows.drawnKnown, edge);
    const before = found.get(key);
    const best = { code, known: KNOWN[code] ?? "next", value: at(rows.drawnValue, edge), source: producer };
    const first = Math.min(producer, before?.first ?? producer);
    const last = Math.max(producer, before?.last ?? producer);
    const kept = before !== undefined && before.code >= code ? before : best;
    found.set(key, { producer: from, consumer: to, ...pick(kept), first, last });
  });
  return [...found].sort(([one], [other]) => one - other).map(([, arrow]) => arrow);
}

function pick({ code, known, value, source }: { code: number; known: Arrow["known"]; value: number; source: number }) {
  return { code, known, value, source };
}

/** The rows at its producer that an arrow leads from, rising. */
export function producersOf(arrow: Arrow, rows: Drawn, visible: Visible): number[] {
  if (arrow.first === arrow.last) return [arrow.first];
  const found = new Set<number>();
  rows.drawnProducer.forEach((producer, edge) => {
    const isEnd = at(visible.place, producer) === arrow.producer;
    if (isEnd && at(visible.place, at(rows.drawnConsumer, edge)) === arrow.consumer) found.add(producer);
  });
  return [...found].sort((one, other) => one - other);
}

/** To each place that nothing feeds from what ran before it, at its level and in its pass. */
export function nextArrows(shown: readonly number[], parents: readonly (number | null)[], lanes: readonly string[], fed: Uint8Array): Arrow[] {
  const last = new Map<string, number>();
  const arrows: Arrow[] = [];
  shown.forEach((place, index) => {
    const level = `${String(parents[index])} ${lanes[index] ?? ""}`;
    const before = last.get(level);
    if (before !== undefined && fed[place] === 0) {
      arrows.push({ producer: before, consumer: place, known: "next", value: NOTHING, first: NOTHING, last: NOTHING, source: NOTHING });
    }
    last.set(level, place);
  });
  return arrows;
}

/** By place: whether an edge leads to it, or to what is in it, from anywhere outside of it. */
export function fedPlaces(rows: Drawn, visible: Visible): Uint8Array {
  const fed = new Uint8Array(visible.row.length);
  rows.drawnProducer.forEach((producer, edge) => {
    const start = at(visible.place, producer);
    for (let row = at(rows.drawnConsumer, edge); row >= 0; row = at(rows.parent, row)) {
      const place = at(visible.place, row);
      const isInside = producer >= row && producer <= at(rows.last, row);
      if (!isInside && start !== place && place !== NOTHING) fed[place] = 1;
    }
  });
  return fed;
}

/** The closed boxes of the forward pass that may read what no recorded call puts out: of those that something feeds,
 * where it is known of all that does what it feeds. */
export function inputReaders(shown: readonly number[], parents: readonly (number | null)[], lanes: readonly string[], fed: Uint8Array, isUnsure: (place: number) => boolean): number[] {
  const holding = new Set(parents);
  return shown.filter((place, index) => lanes[index] === "forward" && !holding.has(place) && !(fed[place] === 1 && isUnsure(place)));
}

/** The rows that an edge leads to of which nobody knows the value that passes. */
export function unsureRows(rows: Drawn): Set<number> {
  const unsure = new Set<number>();
  rows.drawnConsumer.forEach((row, edge) => {
    if (at(rows.drawnKnown, edge) < RECORDED_OR_EQUAL && at(rows.drawnValue, edge) === NOTHING) unsure.add(row);
  });
  return unsure;
}

const RECORDED_OR_EQUAL = KNOWN.indexOf("values");
