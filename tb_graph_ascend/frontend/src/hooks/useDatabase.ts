/* Summary of the open database: task, pairs, what was said about the whole comparison. */

import { useQuery } from "@tanstack/react-query";

import { databaseQuery } from "../api/queries";
import type { Pair } from "../api/types";
import { useApp } from "../state/store";

export function useDatabase() {
  const db = useApp((state) => state.db);
  return useQuery({ ...databaseQuery(db ?? ""), enabled: db !== null });
}

/** The summary of the (step, rank) on screen. */
export function useCurrentPair(): Pair | undefined {
  const { data } = useDatabase();
  const step = useApp((state) => state.step);
  const rank = useApp((state) => state.rank);
  return data?.pairs.find((pair) => pair.step === step && pair.rank === rank);
}
