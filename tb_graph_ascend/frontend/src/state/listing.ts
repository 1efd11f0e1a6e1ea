/* Opens the nodes table with a query, where a count elsewhere on the page speaks of its rows. */

import type { Scope } from "../api/client";
import { useApp } from "./store";

/** Calls that both runs make and of which no value could be compared. */
export const WITHOUT_VALUES = "matched -score>=0 -input>=0";

/** List what a count speaks of: of the step and rank on screen, unless it is of all. */
export function listNodes(query: string, scope: Scope = "pair"): void {
  const { table, set } = useApp.getState();
  set({ leftTab: "nodes", query, table: { ...table, scope } });
}
