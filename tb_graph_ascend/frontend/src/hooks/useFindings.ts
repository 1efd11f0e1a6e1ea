/* The findings as the panel lists them: of this pair or all, filtered and sorted. */

import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";

import { findingsQuery } from "../api/queries";
import { arrangeFindings } from "../state/findings";
import { useApp } from "../state/store";

export function useFindings() {
  const db = useApp((state) => state.db);
  const step = useApp((state) => state.step);
  const rank = useApp((state) => state.rank);
  const filter = useApp((state) => state.filter);
  const allPairs = useApp((state) => state.allPairs);
  const query = useQuery({ ...findingsQuery(db ?? ""), enabled: db !== null });
  const findings = query.data?.findings;
  const scoped = useMemo(
    () => findings?.filter((one) => allPairs || (one.step === step && one.rank === rank)) ?? [],
    [findings, allPairs, step, rank],
  );
  const shown = useMemo(() => arrangeFindings(scoped, filter), [scoped, filter]);
  return { query, scoped, shown };
}
