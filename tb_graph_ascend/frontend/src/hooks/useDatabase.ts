/* Summary of the open database: task, pairs, what was said about the whole comparison. */

import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";

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

/** Why the step and rank on screen has nothing to list, in words; null where it was compared. */
export function useNothingHere(): string | null {
  const { t } = useTranslation();
  const status = useCurrentPair()?.status;
  if (status === "missing") return t("graph.missingMeans");
  return status === "failed" ? t("graph.failed") : null;
}
