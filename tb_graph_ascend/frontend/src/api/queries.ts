/* Cached requests of the panels; one place for their keys, so that a mapping can refresh them. */

import { QueryClient, infiniteQueryOptions, queryOptions } from "@tanstack/react-query";

import { RequestError, api, type NodeQuery, type Scope } from "./client";
import type { NodeDetails, SharedWeight } from "./types";

/** Nodes that a card unfolds to. */
const MOST_LISTED = 100;
const MOST_AT_ONCE = 2000; // of what the server gives
/** With the two seconds for which the server remembers its scan, a new file is seen within five. */
const REFRESH_MS = 2500;

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: Infinity,
      refetchOnWindowFocus: false,
      retry: (count, error) =>
        count < 1 && error instanceof RequestError && (error.status === 0 || error.status >= 500),
      retryDelay: 300,
    },
  },
});

/** The list refreshes itself, so new files appear without reload. */
export const databasesQuery = () =>
  queryOptions({
    queryKey: ["databases"],
    queryFn: api.databases,
    refetchInterval: REFRESH_MS,
    staleTime: 0,
  });

export const databaseQuery = (db: string) =>
  queryOptions({ queryKey: ["db", db, "summary"], queryFn: () => api.database(db) });

export const answerQuery = (db: string) =>
  queryOptions({ queryKey: ["db", db, "answer"], queryFn: () => api.answer(db) });

export const ranksQuery = (db: string) =>
  queryOptions({ queryKey: ["db", db, "ranks"], queryFn: () => api.ranks(db) });

export const proposalsQuery = (db: string, step: number, rank: number) =>
  queryOptions({
    queryKey: ["db", db, "proposals", step, rank],
    queryFn: () => api.proposals(db, step, rank),
  });

/** The first NaN of a step and rank; asked for once a step and rank are shown. */
export const nonfiniteQuery = (db: string | null, step: number | null, rank: number | null) =>
  queryOptions({
    queryKey: ["db", db, "nonfinite", step, rank],
    queryFn: () => api.nonfinite(db ?? "", step ?? 0, rank ?? 0),
    enabled: db !== null && step !== null && rank !== null,
  });

/** The node before stands until the next one is there, but never beside another file, which has no such node. */
export const detailsQuery = (db: string, node: number) =>
  queryOptions({
    queryKey: ["db", db, "details", node],
    queryFn: () => api.details(db, node),
    placeholderData: (previous: NodeDetails | undefined, query?: { queryKey: readonly unknown[] }) =>
      query?.queryKey[1] === db ? previous : undefined,
  });

export const flowQuery = (db: string, node: number) =>
  queryOptions({ queryKey: ["db", db, "flow", node], queryFn: () => api.flow(db, node) });

export const traceQuery = (db: string, node: number) =>
  queryOptions({ queryKey: ["db", db, "trace", node], queryFn: () => api.trace(db, node) });

export const nodesQuery = (db: string, step: number, rank: number, query: NodeQuery) =>
  queryOptions({
    queryKey: ["db", db, "nodes", step, rank, query],
    queryFn: () => api.nodes(db, step, rank, query),
  });

/** How many nodes of a step and rank fit a query. */
export const countQuery = (db: string, step: number, rank: number, q: string, scope: Scope = "pair") =>
  queryOptions({
    queryKey: ["db", db, "count", step, rank, q, scope],
    queryFn: () => api.table(db, { step, rank, q, scope, sort: "order", descending: false }, 0, 1),
  });

/** Calls of a step and rank that one run alone makes, the first of them in execution order. */
export const aloneQuery = (db: string, step: number, rank: number, direction: "forward" | "backward") =>
  queryOptions({
    queryKey: ["db", db, "alone", step, rank, direction],
    queryFn: () =>
      api.table(db, { step, rank, q: `unmatched kind:api ${direction}`, scope: "pair", sort: "order", descending: false }, 0, MOST_LISTED),
  });

/** Collectives of a step and rank that differ, in execution order. */
export const collectivesQuery = (db: string, step: number, rank: number) =>
  queryOptions({
    queryKey: ["db", db, "collectives", step, rank],
    queryFn: () =>
      api.table(db, { step, rank, q: "distributed divergent kind:api", scope: "pair", sort: "order", descending: false }, 0, MOST_LISTED),
  });

export const sharesQuery = (db: string, step: number, rank: number) =>
  queryOptions({ queryKey: ["db", db, "shares", step, rank], queryFn: () => api.shares(db, step, rank) });

/** Of which cause, by its nodes; else of none here: those that a guess leads to one, those that go back into the step before, or all others. */
export type LedTo = readonly number[] | "perhaps" | "earlier" | "none";

export const divergentQuery = (db: string, step: number, rank: number, to: LedTo) =>
  infiniteQueryOptions({
    queryKey: ["db", db, "divergent", step, rank, to],
    queryFn: ({ pageParam }) => api.divergent(db, step, rank, { ...whither(to), offset: pageParam, limit: MOST_LISTED }),
    initialPageParam: 0,
    getNextPageParam: ({ offset, nodes, total }) => {
      const next = offset + nodes.length;
      return next < total && nodes.length > 0 ? next : undefined;
    },
  });

/** Weights with a text in a path of either side, of one relation; left out means all. */
export interface WeightFilter {
  part?: string;
  relation?: SharedWeight["relation"];
}

export const weightsQuery = (db: string, step: number, rank: number, filter: WeightFilter) =>
  infiniteQueryOptions({
    queryKey: ["db", db, "weights", step, rank, filter],
    queryFn: ({ pageParam }) => api.weights(db, step, rank, { ...filter, offset: pageParam, limit: MOST_LISTED }),
    initialPageParam: 0,
    getNextPageParam: ({ offset, weights, total }) => {
      const next = offset + weights.length;
      return next < total && weights.length > 0 ? next : undefined;
    },
  });

/** All weights of a step and rank, page by page. */
export async function allWeights(db: string, step: number, rank: number): Promise<SharedWeight[]> {
  const found: SharedWeight[] = [];
  for (;;) {
    const { weights, total } = await api.weights(db, step, rank, { offset: found.length, limit: MOST_AT_ONCE });
    found.push(...weights);
    if (weights.length === 0 || found.length >= total) return found;
  }
}

function whither(to: LedTo): { cause?: string; earlier?: boolean; perhaps?: boolean } {
  if (to === "none") return {};
  if (to === "perhaps") return { perhaps: true };
  return to === "earlier" ? { earlier: true } : { cause: to.join(".") };
}

export const acrossQuery = (db: string, node: number) =>
  queryOptions({ queryKey: ["db", db, "across", node], queryFn: () => api.across(db, node) });

export const shardsQuery = (db: string, node: number) =>
  queryOptions({ queryKey: ["db", db, "shards", node], queryFn: () => api.shards(db, node) });

export const tokensQuery = (db: string, node: number) =>
  queryOptions({ queryKey: ["db", db, "tokens", node], queryFn: () => api.tokens(db, node) });

export const pictureQuery = (db: string, node: number, value: number) =>
  queryOptions({
    queryKey: ["db", db, "picture", node, value],
    queryFn: () => api.picture(db, node, value),
    retry: false,
  });

export const boxesQuery = (db: string, step: number, rank: number, module: number, open: readonly number[]) =>
  queryOptions({
    queryKey: ["db", db, "boxes", step, rank, module, open],
    queryFn: () => api.boxes(db, step, rank, module, open),
  });

export const dumpsQuery = () =>
  queryOptions({ queryKey: ["dumps"], queryFn: api.dumps, staleTime: 0 });

export const mappingsQuery = (db: string) =>
  queryOptions({ queryKey: ["db", db, "mappings"], queryFn: () => api.mappings(db) });

/** Everything about one database is asked anew (its measures changed). */
export function refreshDatabase(db: string): Promise<void> {
  return queryClient.invalidateQueries({ queryKey: ["db", db] });
}
