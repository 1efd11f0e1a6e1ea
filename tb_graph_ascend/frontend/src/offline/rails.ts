/* What flows between the rows of a list, as `view/diff/rails.py` has it. */

import type { RailEdge } from "../api/types";
import { NOTHING, at } from "./blocks";
import type { RowCells } from "./pair";
import type { Visible } from "./visible";

/** Lane 0 is for what the next row reads; what is more than these share the last one. */
const MOST_LANES = 8;

type Flow = Pick<RowCells, "children" | "flowProducer" | "flowConsumer" | "flowExact">;

/** The rails of a list by producer, then consumer; what flows inside a closed row has none. */
export function railsOf(rows: Flow, visible: Visible): RailEdge[] {
  const count = visible.row.length + 1;
  const isExact = new Map<number, boolean>();
  rows.flowProducer.forEach((producer, edge) => {
    const consumer = at(rows.flowConsumer, edge);
    if (isOpenModule(rows, visible, producer) || isOpenModule(rows, visible, consumer)) return;
    const [from, to] = [at(visible.place, producer), at(visible.place, consumer)];
    if (from === to || from === NOTHING || to === NOTHING) return;
    const key = from * count + to;
    isExact.set(key, isExact.get(key) === true || at(rows.flowExact, edge) === 1);
  });
  const keys = [...isExact.keys()].sort((one, other) => one - other);
  const ends = keys.map((key) => ({ producer: Math.floor(key / count), consumer: key % count }));
  const lanes = lanesOf(ends);
  return ends.map((end, place) => ({ ...end, lane: lanes.get(end.producer) ?? 0, exact: isExact.get(keys[place] ?? 0) === true }));
}

/** Those that pass through or end in a window of rows, the shortest where they are too many. */
export function railsWithin(rails: readonly RailEdge[], first: number, stop: number, most: number): RailEdge[] {
  const touching = rails.flatMap(({ producer, consumer }, place) => {
    const [low, high] = [Math.min(producer, consumer), Math.max(producer, consumer)];
    return low < stop && high >= first ? [{ place, length: high - low }] : [];
  });
  const kept = touching.sort((one, other) => one.length - other.length).slice(0, most);
  return kept.map(({ place }) => place).sort((one, other) => one - other).flatMap((place) => rails[place] ?? []);
}

function isOpenModule({ children }: Flow, visible: Visible, row: number): boolean {
  return visible.isOpen[row] === 1 && at(children, row) > 0;
}

/** A lane for each producer such that rails in one lane do not overlap, as far as there are. */
function lanesOf(ends: readonly { producer: number; consumer: number }[]): Map<number, number> {
  const spans = new Map<number, { producer: number; top: number; end: number }>();
  for (const { producer, consumer } of ends) {
    const { top, end } = spans.get(producer) ?? { top: producer, end: producer };
    spans.set(producer, { producer, top: Math.min(top, consumer), end: Math.max(end, consumer) });
  }
  const long = [...spans.values()].filter(({ top, end }) => end - top > 1).sort((one, other) => one.top - other.top);
  const free = Array.from({ length: MOST_LANES - 1 }, (_, lane) => lane + 1);
  let busy: { end: number; lane: number }[] = [];
  const lanes = new Map<number, number>();
  for (const { producer, top, end } of long) {
    free.push(...busy.filter((one) => one.end <= top).map(({ lane }) => lane));
    free.sort((one, other) => one - other);
    busy = busy.filter((one) => one.end > top);
    const lane = free.shift() ?? MOST_LANES;
    lanes.set(producer, lane);
    if (lane < MOST_LANES) busy.push({ end, lane });
  }
  return lanes;
}
