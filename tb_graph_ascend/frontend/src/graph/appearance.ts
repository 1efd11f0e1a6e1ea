/* How a node is filled: by score, by overflow level, hatched when unmatched, plain without a score. */

import type { Node } from "../api/types";
import { inkOn, rampColor } from "./ramp";

export type Recolour = "score" | "overflow";

export interface Appearance {
  /** Null: the theme's plain surface. */
  fill: string | null;
  ink: string | null;
  hatched: boolean;
}

export const OVERFLOW_SCORE = { medium: 0.35, high: 0.65, critical: 1 } as const;

const PLAIN: Appearance = { fill: null, ink: null, hatched: false };

/** Fill and ink of a node; `comparison` is false for a single graph, where nothing is unmatched. */
export function appearanceOf(node: Node, mode: Recolour, comparison: boolean): Appearance {
  if (mode === "overflow") {
    return onRamp(node.overflow === null ? null : OVERFLOW_SCORE[node.overflow]);
  }
  if (isUnmatched(node, comparison)) return { fill: null, ink: null, hatched: true };
  return onRamp(node.score);
}

/** Roots and collections are views, so only entries of the dump can lack a partner. */
export function isUnmatched(node: Node, comparison: boolean): boolean {
  return comparison && node.match === null && (node.kind === "module" || node.kind === "api");
}

/** What the badge of a closed module says; null when nothing below diverges. */
export function badgeOf(node: Node): { count: number; worst: number } | null {
  if (node.children === 0 || node.divergent_below === 0) return null;
  return { count: node.divergent_below, worst: node.worst_below ?? 0 };
}

function onRamp(score: number | null): Appearance {
  return score === null ? PLAIN : { fill: rampColor(score), ink: inkOn(score), hatched: false };
}
