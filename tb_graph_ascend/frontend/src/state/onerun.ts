/* What is left out where one run was looked at alone: no causes, no partners, nothing to map. */

import { BOTTOM_TABS, type BottomTab, LEFT_TABS, type LeftTab } from "./store";

/** What there is of an open database: whether two runs were compared, and in how many steps and ranks. */
interface Looked {
  comparison: boolean;
  pairs: readonly unknown[];
}

const COMPARED_LISTS: ReadonlySet<string> = new Set<LeftTab>(["causes", "mapping"]);
/** What common queries ask of a comparison: a partner, a score, a verdict. */
const COMPARED_TERMS: ReadonlySet<string> = new Set(["unmatched", "divergent", "verdict:error"]);

/** The lists beside the graph. */
export function leftTabs(looked: Looked | undefined): readonly LeftTab[] {
  return LEFT_TABS.filter((tab) => looked?.comparison !== false || !COMPARED_LISTS.has(tab));
}

/** The parts of the details; steps and ranks of one run are there to be gone to, if there are several. */
export function bottomTabs(looked: Looked | undefined): readonly BottomTab[] {
  if (looked?.comparison !== false) return BOTTOM_TABS;
  return BOTTOM_TABS.filter((tab) => tab !== "trace" && (tab !== "across" || looked.pairs.length > 1));
}

/** Whether a common query can find anything. */
export function isTermOf(looked: Looked | undefined, term: string): boolean {
  return looked?.comparison !== false || !COMPARED_TERMS.has(term);
}
