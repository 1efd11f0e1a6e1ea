/* What boxes and edges of a comparison are marked with: where a difference begins, and what carries it. */

import type { DiffRow, GraphBox } from "../api/types";
import { differs } from "./words";

/** Whether a box is where a difference begins, or is closed and holds such a place; an open one shows it itself. */
export function beginningOf({ word, inside }: DiffRow, holds: boolean): "here" | "inside" | null {
  if (word !== "begins") return null;
  if (!inside) return "here";
  return holds ? null : "inside";
}

/** Whether what a box puts out is not the same in both runs; of what was not compared nothing is said. */
export function carriesDifference(box: GraphBox | undefined): boolean {
  return box !== undefined && differs(box.row) && (box.row.score ?? 0) > 0;
}
