/* What a node shows of itself: the weight of its overflow, whether it stands alone, what is below. */

import type { Node } from "../api/types";

export type Recolour = "score" | "overflow";

export const OVERFLOW_SCORE = { medium: 0.35, high: 0.65, critical: 1 } as const;

/** Roots and collections are views, so only entries of the dump can lack a partner. */
export function isUnmatched(node: Node, comparison: boolean): boolean {
  return comparison && node.match === null && (node.kind === "module" || node.kind === "api");
}

/** What the badge of a closed module says; null when nothing below diverges. */
export function badgeOf(node: Node): { count: number; worst: number } | null {
  if (node.children === 0 || node.divergent_below === 0) return null;
  return { count: node.divergent_below, worst: node.worst_below ?? 0 };
}
