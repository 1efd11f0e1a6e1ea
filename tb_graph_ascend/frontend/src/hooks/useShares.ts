/* How the divergent nodes of the step and rank on screen, or of another step, are shared out among the causes there. */

import { useQuery } from "@tanstack/react-query";

import { sharesQuery } from "../api/queries";
import type { DivergentShares } from "../api/types";
import { useApp } from "../state/store";
import { useCurrentPair, useDatabase } from "./useDatabase";

export function useShares(step?: number): DivergentShares | undefined {
  const db = useApp((state) => state.db);
  const pair = useCurrentPair();
  const { data: database } = useDatabase();
  const asked = db !== null && pair?.status === "ok" && database?.comparison === true;
  return useQuery({ ...sharesQuery(db ?? "", step ?? pair?.step ?? 0, pair?.rank ?? 0), enabled: asked }).data;
}
