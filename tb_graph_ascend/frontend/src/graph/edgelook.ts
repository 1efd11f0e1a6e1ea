/* How an edge looks by how it is known: the surer, the more of its line there is. */

import type { GraphEdge } from "../api/types";

export type Known = GraphEdge["known"];

/** From the surest; the legend lists them so. */
export const KNOWN: readonly Known[] = ["recorded", "values", "numbers", "order", "next"];

interface EdgeLook {
  /** Strokes and gaps; null for a whole line. */
  dash: string | null;
  opacity: number;
  /** What only ran next has read nothing that is known. */
  arrow: boolean;
}

export const EDGE_LOOKS: Record<Known, EdgeLook> = {
  recorded: { dash: null, opacity: 0.8, arrow: true },
  values: { dash: "7 3", opacity: 0.8, arrow: true },
  numbers: { dash: "2 3", opacity: 0.9, arrow: true },
  order: { dash: "1.5 5", opacity: 0.9, arrow: true },
  next: { dash: "1 8", opacity: 0.6, arrow: false },
};
