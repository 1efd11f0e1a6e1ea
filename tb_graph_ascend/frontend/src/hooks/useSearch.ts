/* Asks the server for hits while the person types; the answer to an older text is dropped. */

import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";

import { api } from "../api/client";
import { useApp } from "../state/store";

const PAGE = 200;

export function useSearch() {
  const db = useApp((state) => state.db);
  const step = useApp((state) => state.step);
  const rank = useApp((state) => state.rank);
  const query = useApp((state) => state.query);
  const regex = useApp((state) => state.regex);
  const queryKey = ["db", db, "search", step, rank, query, regex];
  const answer = useInfiniteQuery({
    queryKey,
    queryFn: ({ pageParam, signal }) =>
      api.search(
        db ?? "",
        step ?? 0,
        rank ?? 0,
        { q: query, regex, offset: pageParam, limit: PAGE },
        signal,
      ),
    initialPageParam: 0,
    getNextPageParam: (last) => {
      const next = last.offset + last.hits.length;
      return next < last.total && last.hits.length > 0 ? next : undefined;
    },
    enabled: db !== null && step !== null && rank !== null && query !== "",
    placeholderData: keepPreviousData,
    retry: false,
  });
  const pages = answer.data?.pages;
  const hits = query === "" ? [] : (pages?.flatMap((page) => page.hits) ?? []);
  return {
    answer,
    hits,
    total: query === "" ? 0 : (pages?.[0]?.total ?? 0),
    /** What was asked: a place in the list of another question means nothing. */
    asked: JSON.stringify(queryKey),
    /** Whether the hits are of this question: those of the last one stay in the list until then. */
    current: answer.isSuccess && !answer.isPlaceholderData,
  };
}
