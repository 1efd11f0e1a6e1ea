/* What a node shows of itself: the weight of its overflow, whether it stands alone or could be mapped. */

import type { Node } from "../api/types";

export type Recolour = "score" | "overflow";

export const OVERFLOW_SCORE = { medium: 0.35, high: 0.65, critical: 1 } as const;

/** Roots and collections are views, so only entries of the dump have a partner or lack one. */
export function isMappable(kind: Node["kind"] | null): boolean {
  return kind === "module" || kind === "api";
}

export function isUnmatched(node: Node, comparison: boolean): boolean {
  return comparison && node.match === null && isMappable(node.kind);
}
