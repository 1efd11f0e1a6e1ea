/* Filters and sorts findings; the order of the diagnosis stays where nothing else is asked for. */

import type { Finding } from "../api/types";
import type { FindingFilter } from "./store";

export function arrangeFindings(findings: readonly Finding[], filter: FindingFilter): Finding[] {
  const kept = findings.filter((finding) => fits(finding, filter));
  return filter.sort === "diagnosis" ? kept : kept.sort(COMPARE[filter.sort]);
}

/** Whether anything is filtered out or reordered. */
export function isFiltering(filter: FindingFilter): boolean {
  const { minScore, verdict, direction, kind, name, sort } = filter;
  return minScore > 0 || [verdict, direction, kind, name].some(Boolean) || sort !== "diagnosis";
}

function fits({ node, score }: Finding, filter: FindingFilter): boolean {
  return (
    (filter.minScore === 0 || (score ?? 0) >= filter.minScore) &&
    (filter.verdict === "" || node.verdict === filter.verdict) &&
    (filter.direction === "" || node.direction === filter.direction) &&
    (filter.kind === "" || node.kind === filter.kind) &&
    node.name.toLowerCase().includes(filter.name.trim().toLowerCase())
  );
}

const COMPARE: Record<
  Exclude<FindingFilter["sort"], "diagnosis">,
  (a: Finding, b: Finding) => number
> = {
  score: (a, b) => (b.score ?? -1) - (a.score ?? -1),
  introduced: (a, b) => (b.introduced ?? -1) - (a.introduced ?? -1),
  order: (a, b) => a.step - b.step || a.rank - b.rank || a.node.order - b.node.order,
  name: (a, b) => a.node.name.localeCompare(b.node.name),
};
