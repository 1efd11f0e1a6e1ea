/* The rails beside the rows: what each output passes on its way to those that read it. */

import type { RailEdge } from "../api/types";
import { type Columns, laneX } from "./grid";

export type Tie = "producer" | "consumer" | "other";

/** How an edge is tied to the selected row. */
export function tieOf(edge: RailEdge, selected: number): Tie {
  if (edge.consumer === selected) return "producer";
  return edge.producer === selected ? "consumer" : "other";
}

/** Rows in whose dot a rail ends, from a window's edges. */
export function rowsWithDots(edges: readonly RailEdge[]): Set<number> {
  return new Set(edges.flatMap(({ producer, consumer }) => [producer, consumer]));
}

export interface RailEnds {
  x: number;
  laneX: number;
  from: number;
  to: number;
}

/** Where a rail begins and ends; rows outside the window end it at its edge. */
export function endsOf(
  edge: RailEdge,
  columns: Columns,
  middleOf: (place: number) => number,
): RailEnds {
  return {
    x: laneX(columns, 0),
    laneX: laneX(columns, edge.lane),
    from: middleOf(edge.producer),
    to: middleOf(edge.consumer),
  };
}

/** Add a rail to the path: out of the dot, down its lane, into the other dot. */
export function trace(path: CanvasRenderingContext2D, { x, laneX: lane, from, to }: RailEnds): void {
  path.moveTo(x, from);
  if (lane === x) {
    path.lineTo(x, to);
    return;
  }
  const down = to > from ? 1 : -1;
  const bend = Math.min(x - lane, Math.abs(to - from) / 2);
  path.quadraticCurveTo(lane, from, lane, from + down * bend);
  path.lineTo(lane, to - down * bend);
  path.quadraticCurveTo(lane, to, x, to);
}
