/* What a node shows of itself: the weight of its overflow, whether it stands alone. */

import type { Node } from "../api/types";

export type Recolour = "score" | "overflow";

export const OVERFLOW_SCORE = { medium: 0.35, high: 0.65, critical: 1 } as const;

/** Roots and collections are views, so only entries of the dump can lack a partner. */
export function isUnmatched(node: Node, comparison: boolean): boolean {
  return comparison && node.match === null && (node.kind === "module" || node.kind === "api");
}
