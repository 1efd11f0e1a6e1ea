/* Which step, rank and node of a file is meant, by a link, by a cell or because it begins there. */

import type { Cause, CausePlace, Database } from "../api/types";
import type { Linked } from "./url";

export interface Cell {
  step: number;
  rank: number;
}

export type NodePlace = Pick<CausePlace, "step" | "rank" | "node">;

/** Where the best finding of a cause is. */
export function placeOf({ finding }: Cause): NodePlace {
  return { step: finding.step, rank: finding.rank, node: finding.node.id };
}

/** The place of a cause after (+1) or before (−1) that at a node, around the end. */
export function causeBeside(causes: readonly Cause[], here: number | null, direction: 1 | -1): CausePlace | undefined {
  const places = causes.flatMap(({ places: listed }) => listed);
  const current = places.findIndex(({ node }) => node === here);
  const start = current < 0 && direction < 0 ? 0 : current;
  return places[(start + direction + places.length) % places.length];
}

/** Whether a step and rank was compared. */
export function isOk({ pairs }: Database, place: Cell): boolean {
  return pairs.some(({ step, rank, status }) => step === place.step && rank === place.rank && status === "ok");
}

/** The step and rank that a link is of. */
export function cellOf({ step, rank }: Linked): Cell | null {
  return step === null || rank === null ? null : { step, rank };
}

/** Whether there is such a step and rank. */
export function hasPair({ pairs }: Database, place: Cell): boolean {
  return pairs.some(({ step, rank }) => step === place.step && rank === place.rank);
}

/** Whether a link is of this file: of one that was built anew its node ids mean nothing. */
export function sameFile({ built }: Linked, { created }: Database): boolean {
  return built === null || built === created;
}

/** The step and rank of a place, else the first in which something differs, else the first that was compared, else
 * the first; undefined where there is none. */
export function firstPair({ pairs }: Database, first: NodePlace | undefined): Cell | undefined {
  const found = first && pairs.find(({ step, rank }) => step === first.step && rank === first.rank);
  const compared = pairs.filter(({ status }) => status === "ok");
  // Where no beginning is named there is still something to see, and not in a step that agrees.
  const shown = found ?? compared.find(({ divergent }) => divergent > 0) ?? compared[0] ?? pairs[0];
  const { step, rank } = shown ?? {};
  return step === undefined || rank === undefined ? undefined : { step, rank };
}
