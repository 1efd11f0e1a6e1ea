/* Values of a node in the order in which one looks at them: the worst first. */

import type { ValuePair } from "../api/types";

/** By score; a value without one by whether anything differs. Equal ones stay in their order. */
export function worstFirst(values: readonly ValuePair[]): ValuePair[] {
  return [...values].sort((a, b) => severity(b) - severity(a));
}

function severity({ score, differs }: ValuePair): number {
  return score ?? (differs.length > 0 ? 0 : -1);
}
