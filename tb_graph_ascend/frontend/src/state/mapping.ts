/* Manual mapping: map, unmap, undo and redo; the server measures anew, the panes recolour. */

import { create } from "zustand";

import { api } from "../api/client";
import { keepPairs } from "../api/sessionpairs";
import { queryClient, refreshDatabase } from "../api/queries";
import type { MappedPair, MappingResult } from "../api/types";
import { guarded } from "./actions";
import { useApp } from "./store";

interface MappingHistory {
  undo: MappedPair[][];
  redo: MappedPair[][];
  /** The last answer: what was refused, how many nodes changed. */
  result: MappingResult | null;
}

export const useMappingHistory = create<MappingHistory>()(() => ({
  undo: [],
  redo: [],
  result: null,
}));

/** Map the two picked nodes. */
export async function mapPicked(descendants: boolean, everywhere: boolean): Promise<void> {
  const { picks, set } = useApp.getState();
  const { problem, benchmark } = picks;
  if (!problem || !benchmark) return;
  const wish = { problem: problem.id, benchmark: benchmark.id, descendants, everywhere };
  await change((db) => api.map(db, wish));
  if (useMappingHistory.getState().result?.refused.length === 0) {
    set({ picks: { problem: null, benchmark: null } });
  }
}

export function unmap(problem: number): Promise<void> {
  return change((db) => api.unmap(db, problem));
}

/** Replace all manual pairs, for instance by those of a file. */
export function replaceMappings(pairs: MappedPair[]): Promise<void> {
  return change((db) => api.replaceMappings(db, pairs));
}

export function undoMapping(): Promise<void> {
  return inTurn(async () => {
    const { undo, redo } = useMappingHistory.getState();
    const earlier = undo[undo.length - 1];
    if (!earlier) return;
    const now = await currentPairs();
    await apply((db) => api.replaceMappings(db, earlier));
    useMappingHistory.setState({ undo: undo.slice(0, -1), redo: [...redo, now] });
  });
}

export function redoMapping(): Promise<void> {
  return inTurn(async () => {
    const { undo, redo } = useMappingHistory.getState();
    const later = redo[redo.length - 1];
    if (!later) return;
    const now = await currentPairs();
    await apply((db) => api.replaceMappings(db, later));
    useMappingHistory.setState({ undo: [...undo, now], redo: redo.slice(0, -1) });
  });
}

let latest: Promise<void> = Promise.resolve();

/** One change after the other: undo pressed while a change is still on its way undoes that change. */
function inTurn(task: () => Promise<void>): Promise<void> {
  const run = latest.then(task);
  latest = run.catch(() => undefined);
  return run;
}

async function change(request: (db: string) => Promise<MappingResult>): Promise<void> {
  await guarded(
    () => change(request),
    () =>
      inTurn(async () => {
        const before = await currentPairs();
        await apply(request);
        useMappingHistory.setState(({ undo }) => ({ undo: [...undo, before], redo: [] }));
      }),
  );
}

async function apply(request: (db: string) => Promise<MappingResult>): Promise<void> {
  const { db, session } = useApp.getState();
  if (db === null) return;
  const result = await request(db);
  keepPairs(db, result.mappings);
  session?.update(result.nodes);
  queryClient.setQueryData(["db", db, "mappings"], result.mappings);
  useMappingHistory.setState({ result });
  await refreshDatabase(db);
}

async function currentPairs(): Promise<MappedPair[]> {
  const { db } = useApp.getState();
  if (db === null) return [];
  return (await api.mappings(db)).pairs;
}
