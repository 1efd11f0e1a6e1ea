/* What can be mapped with what: the node that is held, and what a row says to it. */

import type { DiffRow, Node, Refusal, RowSide, Side } from "../api/types";
import { isMappable } from "./appearance";
import { calledAs, marked } from "./called";
import { titleOf } from "./words";

/** A node without a partner that was picked, or is being dragged. */
export interface Held {
  id: number;
  label: string;
  side: Side;
  kind: DiffRow["kind"];
  direction: DiffRow["direction"];
  /** How many repeats the row stands for: they are paired in order; 0 for one node. */
  fold: number;
}

/** The node of a row that would be mapped, or why there is none. */
export type Drop = { fits: true; id: number; label: string } | { fits: false; why: Refusal };

export function otherSide(side: Side): Side {
  return side === "problem" ? "benchmark" : "problem";
}

/** The unmatched node that a row offers, or null where it has none that could be mapped. */
export function heldOf(row: DiffRow): Held | null {
  const { kind, direction, fold, problem, benchmark } = row;
  const node = problem ?? benchmark;
  if (!node || (problem && benchmark) || fold < 0 || !isMappable(kind)) return null;
  const side = problem ? "problem" : "benchmark";
  const label = fold > 0 ? `${titleOf(row, node)} × ${fold}` : labelOf(row, node);
  return { id: node.id, label, side, kind, direction, fold };
}

/** A picked node as one that is held. */
export function heldNode(node: Node): Held {
  const { id, side, kind, direction } = node;
  return { id, label: calledAs(node), side, kind, direction, fold: 0 };
}

/** What becomes of a held node on a row. */
export function dropOn(held: Held, row: DiffRow | undefined): Drop {
  const objection = row ? objectionOf(held, row) : { code: "nowhere" };
  const node = row?.[otherSide(held.side)];
  if (objection || !row || !node) return { fits: false, why: objection ?? { code: "nowhere" } };
  return { fits: true, id: node.id, label: row.fold > 0 ? titleOf(row, node) : labelOf(row, node) };
}

function objectionOf(held: Held, row: DiffRow): Refusal | null {
  const side = otherSide(held.side);
  const node = row[side];
  const partner = row[held.side];
  if (!isMappable(row.kind)) return { code: "not_mappable" };
  if (!node) return { code: "gap", side };
  if (partner) return { code: "already_matched", side, partner: partner.name };
  if (row.fold < 0 || row.fold > 0 !== held.fold > 0) return { code: "folded" };
  if (row.kind !== held.kind) return { code: "kind_differs", ...bySide(held.side, held.kind, row.kind) };
  if (row.direction !== held.direction) {
    return { code: "direction_differs", ...bySide(held.side, held.direction, row.direction) };
  }
  return null;
}

function bySide(side: Side, own: string | null, other: string | null): Record<Side, string | null> {
  return side === "problem" ? { problem: own, benchmark: other } : { problem: other, benchmark: own };
}

function labelOf({ direction }: DiffRow, { title, call }: RowSide): string {
  return marked(call === null ? title : `${title} #${call}`, direction === "backward");
}
