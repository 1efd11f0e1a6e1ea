/* Steps and ranks of a comparison, as numbers in order. */

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

function distinct(values: number[]): number[] {
  return [...new Set(values)].sort((a, b) => a - b);
}
