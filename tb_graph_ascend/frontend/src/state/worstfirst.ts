/* Values of a node in the order in which one looks at them: the worst first. */

import type { ValuePair } from "../api/types";

/** By score; a value without one by whether anything differs. Equal ones stay in their order. */
export function worstFirst(values: readonly ValuePair[]): ValuePair[] {
  return [...values].sort((a, b) => severity(b) - severity(a));
}

/** From this score on a value differs, as by default for the whole page. */
const DIFFERS = 0.25;

/** The first value that differs, inputs before outputs: it tells more than what follows of it; else the worst. */
export function firstDiffering(values: readonly ValuePair[]): ValuePair | undefined {
  return values.find(({ score }) => score !== null && score > DIFFERS) ?? worstFirst(values)[0];
}

function severity({ score, differs }: ValuePair): number {
  return score ?? (differs.length > 0 ? 0 : -1);
}
