/* The rows of the nodes table while the person types; the answer to an older query is dropped. */

import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";

import { type TableQuery, api } from "../api/client";
import type { NodeRow } from "../api/types";
import { askable } from "../state/queryterms";
import { useApp } from "../state/store";

const PAGE = 200;

/** The query as it is asked now; null while no step and rank is shown. */
export function useTableQuery(): TableQuery | null {
  const step = useApp((state) => state.step);
  const rank = useApp((state) => state.rank);
  const q = useApp((state) => askable(state.query));
  const table = useApp((state) => state.table);
  return step === null || rank === null ? null : { step, rank, q, ...table };
}

export function useNodeTable(wanted: boolean) {
  const db = useApp((state) => state.db);
  const query = useTableQuery();
  // A query over everything is the same from wherever it is asked.
  const shared = query?.scope === "all" ? { ...query, step: 0, rank: 0 } : query;
  const queryKey = ["db", db, "table", shared];
  const answer = useInfiniteQuery({
    queryKey,
    queryFn: ({ pageParam, signal }) => {
      if (db === null || query === null) throw new Error("no step and rank is shown");
      return api.table(db, query, pageParam, PAGE, signal);
    },
    initialPageParam: 0,
    getNextPageParam: (last) => {
      const next = last.offset + last.rows.length;
      return next < last.total && last.rows.length > 0 ? next : undefined;
    },
    enabled: wanted && db !== null && query !== null,
    placeholderData: keepPreviousData,
    retry: false,
  });
  const pages = answer.data?.pages;
  const rows: NodeRow[] = pages?.flatMap((page) => page.rows) ?? [];
  return {
    answer,
    rows,
    total: pages?.[0]?.total ?? 0,
    searched: pages?.[0]?.searched ?? 0,
    pairs: pages?.[0]?.pairs ?? 0,
    unknown: pages?.[0]?.unknown ?? [],
    /** What was asked: a place in the rows of another question means nothing. */
    asked: JSON.stringify(queryKey),
    /** Whether the rows are of this question: those of the last one stay until then. */
    current: answer.isSuccess && !answer.isPlaceholderData,
  };
}
