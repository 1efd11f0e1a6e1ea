/* Unmatched modules of the step and rank on screen that seem to be the same under another name. */

import { useQuery } from "@tanstack/react-query";

import { proposalsQuery } from "../api/queries";
import { useApp } from "../state/store";
import { useCurrentPair } from "./useDatabase";

/** Asked only where both runs have nodes without a partner: reading them takes its time. */
export function useProposals() {
  const db = useApp((state) => state.db);
  const step = useApp((state) => state.step);
  const rank = useApp((state) => state.rank);
  const pair = useCurrentPair();
  const some = pair !== undefined && pair.unmatched_problem > 0 && pair.unmatched_benchmark > 0;
  return useQuery({
    ...proposalsQuery(db ?? "", step ?? 0, rank ?? 0),
    enabled: some && db !== null && step !== null && rank !== null,
  });
}
