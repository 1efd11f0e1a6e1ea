/* What boxes and edges of a comparison are marked with: what the diagnosis names, and what carries a difference. */

import type { DiffRow, GraphBox } from "../api/types";
import { differs, isNamed } from "./words";

/** Whether a box is named by the diagnosis, or is closed and holds such a place; an open one shows it itself. */
export function namedAt(row: DiffRow, holds: boolean): "here" | "inside" | null {
  if (!isNamed(row)) return null;
  if (!row.inside) return "here";
  return holds ? null : "inside";
}

/** Whether what a box puts out is not the same in both runs; of what was not compared nothing is said. */
export function carriesDifference(box: GraphBox | undefined): boolean {
  return box !== undefined && differs(box.row) && (box.row.score ?? 0) > 0;
}
