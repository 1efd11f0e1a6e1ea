/* Steps and ranks of a comparison, as numbers in order. */

import type { Pair } from "../api/types";

interface Place {
  step: number;
  rank: number;
}

export function stepsOf(pairs: readonly Place[]): number[] {
  return distinct(pairs.map(({ step }) => step));
}

export function ranksOf(pairs: readonly Place[]): number[] {
  return distinct(pairs.map(({ rank }) => rank));
}

/** Ranks that a step has. */
export function ranksAt(pairs: readonly Place[], step: number): number[] {
  return ranksOf(pairs.filter((pair) => pair.step === step));
}

/** The compared step and rank next to another: of its own rank if there is one, then by steps. */
export function nearestCompared<P extends Place & { status: string }>(pairs: readonly P[], from: Place): P | null {
  const far = ({ step, rank }: Place): [number, number, number] => [
    rank === from.rank ? 0 : 1,
    Math.abs(step - from.step),
    Math.abs(rank - from.rank),
  ];
  const nearer = (one: P, other: P): P => {
    const [a, b] = [far(one), far(other)];
    const at = a.findIndex((number, index) => number !== b[index]);
    return at >= 0 && (b[at] ?? 0) < (a[at] ?? 0) ? other : one;
  };
  const compared = pairs.filter(({ status }) => status === "ok");
  return compared.length > 0 ? compared.reduce(nearer) : null;
}

/** What was compared and what was not, over all steps and ranks. */
export function countsOf(pairs: readonly Counted[]): { matched: number; unmatched: number; divergent: number } {
  const compared = pairs.filter(({ status }) => status === "ok");
  const sum = (of: (pair: Counted) => number): number => compared.reduce((whole, pair) => whole + of(pair), 0);
  return {
    matched: sum(({ matched }) => matched),
    unmatched: sum((pair) => pair.unmatched_problem + pair.unmatched_benchmark),
    divergent: sum(({ divergent }) => divergent),
  };
}

type Counted = Pick<Pair, "status" | "matched" | "unmatched_problem" | "unmatched_benchmark" | "divergent">;

function distinct(values: number[]): number[] {
  return [...new Set(values)].sort((a, b) => a - b);
}
