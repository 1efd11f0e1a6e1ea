/* The calls of the step and rank on screen that one run alone makes and no cause names, nor a line of a cause. */

import { useQueries, useQuery } from "@tanstack/react-query";

import { aloneQuery, detailsQuery } from "../api/queries";
import type { Cause, Node } from "../api/types";
import { healing, sameLine, unnamedCalls, withoutLayout, withoutLostGradients, withoutNeighbours } from "../state/causes";
import { useApp } from "../state/store";

/** Stacks whose lines are looked at; more than calls are named. */
const LOOKED_AT = 12;

export function useUnnamedCalls(causes: readonly Cause[]): readonly Node[] {
  const db = useApp((state) => state.db);
  const step = useApp((state) => state.step);
  const rank = useApp((state) => state.rank);
  const enabled = db !== null && step !== null && rank !== null;
  const forward = useQuery({ ...aloneQuery(db ?? "", step ?? 0, rank ?? 0, "forward"), enabled });
  const backward = useQuery({ ...aloneQuery(db ?? "", step ?? 0, rank ?? 0, "backward"), enabled });
  // Between two programs calls have no partners by design; where all that begins heals, no call can be a fault.
  const acrossPrograms = causes.some(({ finding }) => ["edges", "paired_calls"].includes(finding.certainty?.basis ?? ""));
  const allHeal = causes.length > 0 && causes.every((cause) => healing(cause));
  const known = !acrossPrograms && !allHeal && forward.data && backward.data;
  const alone = known ? [...forward.data.rows, ...backward.data.rows] : [];
  const rows = withoutLayout(withoutLostGradients(causes, withoutNeighbours(causes, alone)));
  const calls = unnamedCalls(causes, rows.map(({ node }) => node));
  const stacks = new Map(rows.map(({ node, stack }) => [node.id, stack ?? -node.id]));
  const stackOf = ({ id }: Node): number | undefined => stacks.get(id);
  const seen = new Set<number | undefined>();
  const firsts = calls.filter((call) => !seen.has(stackOf(call)) && seen.add(stackOf(call)));
  const looked = firsts.slice(0, LOOKED_AT);
  const details = useQueries({ queries: looked.map(({ id }) => detailsQuery(db ?? "", id)) });
  // What is not known yet is not said: a suspicion that goes away again would be worse than a late one.
  if (details.some(({ isPending }) => isPending)) return [];
  const explained = new Set(looked.filter((_, index) => sameLine(causes, details[index]?.data)).map(stackOf));
  return calls.filter((call) => !explained.has(stackOf(call)));
}
