/* How many calls have a partner and no value that could be compared: of the step and rank on screen, or of all. */

import { useQuery } from "@tanstack/react-query";

import type { Scope } from "../api/client";
import { countQuery } from "../api/queries";
import { WITHOUT_VALUES } from "../state/listing";
import { useApp } from "../state/store";

export function useWithoutValues(scope: Scope): number {
  const db = useApp((state) => state.db);
  const step = useApp((state) => state.step);
  const rank = useApp((state) => state.rank);
  const { data } = useQuery({
    ...countQuery(db ?? "", step ?? 0, rank ?? 0, WITHOUT_VALUES, scope),
    enabled: db !== null && step !== null && rank !== null,
  });
  return data?.total ?? 0;
}
