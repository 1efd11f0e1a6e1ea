/* Opens the nodes table with a query, where a count elsewhere on the page speaks of its rows. */

import type { Scope } from "../api/client";
import type { NodeRow } from "../api/types";
import { useApp } from "./store";

/** Calls that both runs make and of which no value could be compared. */
export const WITHOUT_VALUES = "matched -score>=0 -input>=0";

/** List what a count speaks of: of the step and rank on screen, unless it is of all. */
export function listNodes(query: string, scope: Scope = "pair"): void {
  const { table, set } = useApp.getState();
  set({ leftTab: "nodes", query, table: { ...table, scope } });
}

/** The nodes that rows of the table stand for. Not their names: calls are counted in each run on its own, so that a
 * lone call of one run may be named as a matched one of the other. */
export function listedNodes(rows: readonly Pick<NodeRow, "node">[]): ReadonlySet<number> {
  return new Set(rows.flatMap(({ node: { id, match } }) => (match === null ? [id] : [id, match])));
}
