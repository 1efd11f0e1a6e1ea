/* The first collective of the step and rank on screen by which what a call makes wrong gets to other ranks. */

import { useQuery } from "@tanstack/react-query";

import { collectivesQuery, traceQuery } from "../api/queries";
import type { Node } from "../api/types";
import { useApp } from "../state/store";
import { useDatabase } from "./useDatabase";

/** Null unless the way back from that collective leads through the call: that it is later is no proof. */
export function useCarrier({ id, order, side }: Node): Node | null {
  const db = useApp((state) => state.db);
  const step = useApp((state) => state.step);
  const rank = useApp((state) => state.rank);
  const { data: database } = useDatabase();
  const several = new Set(database?.pairs.map((pair) => pair.rank)).size > 1;
  const asked = db !== null && step !== null && rank !== null && database?.comparison === true && several && side === "problem";
  const { data } = useQuery({ ...collectivesQuery(db ?? "", step ?? 0, rank ?? 0), enabled: asked });
  const later = data?.rows.map(({ node }) => node).find((node) => node.order > order);
  const way = useQuery({ ...traceQuery(db ?? "", later?.id ?? 0), enabled: asked && later !== undefined });
  return later && way.data?.hops.some(({ node }) => node === id) ? later : null;
}
