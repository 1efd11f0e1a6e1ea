/* Manual mapping: map, unmap, undo and redo; the server measures anew, the panes recolour.
 *
 * Undo takes back what this page did and nothing else: each change is remembered as the pairs that
 * it added and removed, per database, and taking it back asks the server for the opposite. */

import { create } from "zustand";

import { RequestError, api } from "../api/client";
import { mappingsQuery, proposalsQuery, queryClient, refreshDatabase } from "../api/queries";
import { keepPairs } from "../api/sessionpairs";
import type { MappedPair, MappingResult, Side } from "../api/types";
import { type Held, heldNode } from "../graph/mapdrag";
import { guarded, selectNode } from "./actions";
import { switched } from "./ahead";
import { type AppState, useApp } from "./store";

/** What one change did to the pairs of a database. */
export interface MappingChange {
  added: MappedPair[];
  removed: MappedPair[];
}

export interface MappingHistory {
  undo: MappingChange[];
  redo: MappingChange[];
  /** The last answer: what was refused, how many nodes changed; null while one is awaited. */
  result: MappingResult | null;
  /** What it answers. */
  act: MappingAct;
}

export type MappingAct = "made" | "unmade" | "undo" | "redo";

const NOTHING: MappingHistory = { undo: [], redo: [], result: null, act: "made" };

/** Changes that are on their way: what they do away with must not be asked for twice; whether a build follows. */
export const useMappingWork = create<{ pending: number; building: boolean }>()(() => ({ pending: 0, building: false }));

/** The histories of all databases that were mapped on this page. */
export const useMappingHistory = create<Record<string, MappingHistory>>()(() => ({}));

/** The history of a database. */
export function historyOf(histories: Record<string, MappingHistory>, db: string | null): MappingHistory {
  return (db === null ? undefined : histories[db]) ?? NOTHING;
}

/** How far a mapping by hand reaches, however it is made. */
export const useMapReach = create<{ descendants: boolean; everywhere: boolean }>()(() => ({
  descendants: true,
  everywhere: true,
}));

/** Map the two picked nodes. */
export async function mapPicked(): Promise<void> {
  const { problem, benchmark } = useApp.getState().picks;
  if (problem && benchmark) await mapNodes({ problem: problem.id, benchmark: benchmark.id });
}

async function mapNodes(pair: Record<Side, number>, folds = false): Promise<MappingResult | null> {
  const result = await change((db) => api.map(db, { ...pair, ...useMapReach.getState(), folds }));
  if (result?.refused.length === 0) useApp.getState().set({ picks: { problem: null, benchmark: null } });
  return result;
}

type Named = Pick<Held, "id" | "label">;

/** Map what was dropped, or picked by key, say what came of it, and show it. */
export async function mapHeld(held: Held, other: Named): Promise<void> {
  const sides = held.side === "problem" ? { problem: held, benchmark: other } : { problem: other, benchmark: held };
  const ids = { problem: sides.problem.id, benchmark: sides.benchmark.id };
  const result = await mapNodes(ids, held.fold > 0);
  if (!result) return;
  const { set } = useApp.getState();
  const [refused] = result.refused;
  if (result.added.length === 0 && refused) {
    set({ notice: { code: "notMapped", facts: {}, reason: refused.reason } });
    return;
  }
  const facts = { problem: sides.problem.label, benchmark: sides.benchmark.label, count: measuredPairs(result) };
  set({ notice: { code: "mapped", facts }, leftTab: "mapping", picks: { problem: null, benchmark: null } });
  await selectNode(ids.problem, { keepView: true });
}

/** The one node that is picked while its partner is still to be chosen. */
export function pickedNode({ problem, benchmark }: AppState["picks"]): Held | null {
  if (problem && benchmark) return null;
  const node = problem ?? benchmark;
  return node && heldNode(node);
}

/** Map what is most probably the same, in all its places. */
export async function acceptProposal(): Promise<void> {
  const { db, step, rank, set } = useApp.getState();
  if (db === null || step === null || rank === null) return;
  await guarded(acceptProposal, async () => {
    await latest;
    const [first] = (await queryClient.query(proposalsQuery(db, step, rank))).proposals;
    if (!first) {
      set({ notice: "noProposals" });
      return;
    }
    set({ leftTab: "mapping" });
    const result = await change((of) => api.changeMappings(of, first.pairs, []));
    const facts = { problem: first.problem.label, benchmark: first.benchmark.label, count: result ? measuredPairs(result) : 0 };
    if (result) set({ notice: { code: "mapped", facts } });
  });
}

/** Map all that is proposed for the step and rank on screen, and what is proposed inside it then. */
export async function mapAll(): Promise<boolean> {
  const { db, step, rank } = useApp.getState();
  if (db === null || step === null || rank === null) return false;
  const result = await change((of) => api.mapAll(of, step, rank));
  if (!result) return false;
  useApp.getState().set({ notice: { code: "mappedAll", facts: { count: measuredPairs(result) } } });
  return result.added.length > 0;
}

export async function mapAllAndRebuild(): Promise<void> {
  useMappingWork.setState({ building: true });
  const mapped = await mapAll().finally(() => useMappingWork.setState({ building: false }));
  if (mapped) await rebuildWithPairs(true);
}

/** Take back all that this page mapped in the open database, the last first. */
export async function undoAllMappings(): Promise<void> {
  const { db } = useApp.getState();
  for (;;) {
    const left = historyOf(useMappingHistory.getState(), db).undo.length;
    if (left === 0) return;
    await undoMapping();
    // What somebody else changed meanwhile cannot be taken back, and is said.
    if (historyOf(useMappingHistory.getState(), db).undo.length >= left) return;
  }
}

/** Open the build form filled in with the pairs, so that the diagnosis is made with them; `atOnce` starts it,
 * where all that it needs is there. */
export function rebuildWithPairs(atOnce = false): Promise<void> {
  return guarded(() => rebuildWithPairs(atOnce), async () => {
    await latest;
    const { db, set } = useApp.getState();
    if (db === null) return;
    const { pairs, changed, saved } = await queryClient.query(mappingsQuery(db));
    if (pairs.length + changed === 0) set({ notice: "noPairs" });
    else if (!saved) set({ notice: "pairsUnsaved" });
    else set({ wish: await api.buildWish(db), dialog: "build", buildAtOnce: atOnce });
  });
}

export async function unmap(problem: number): Promise<void> {
  await change((db) => api.unmap(db, problem));
}

/** Put pairs in, for instance those of a proposal. */
export async function addMappings(pairs: MappedPair[]): Promise<void> {
  await change((db) => api.changeMappings(db, pairs, []));
}

/** Take one pair out, wherever its nodes are. */
export async function removeMapping(pair: MappedPair): Promise<void> {
  await change((db) => api.changeMappings(db, [], [pair]));
}

/** Take all pairs out: one change, which one step back puts in again. */
export async function removeAllMappings(pairs: MappedPair[]): Promise<void> {
  await change((db) => api.changeMappings(db, [], pairs));
}

/** Replace all manual pairs by those of a file. */
export async function replaceMappings(pairs: MappedPair[]): Promise<void> {
  await change((db) => api.replaceMappings(db, pairs));
}

export function undoMapping(): Promise<void> {
  return goBack("undo");
}

export function redoMapping(): Promise<void> {
  return goBack("redo");
}

let latest: Promise<unknown> = Promise.resolve();

/** One change after the other: undo pressed while a change is still on its way undoes that change. */
function inTurn<Result>(task: () => Promise<Result>): Promise<Result> {
  const count = (by: number): void => useMappingWork.setState(({ pending }) => ({ pending: pending + by }));
  count(1);
  const run = latest.then(task).finally(() => count(-1));
  latest = run.catch(() => undefined);
  return run;
}

type Request = (db: string) => Promise<MappingResult>;

/** How many pairs of nodes a change measured: what is above them is shown anew, but was not. */
export function measuredPairs({ nodes }: MappingResult): number {
  return nodes.filter(({ side, match_reason }) => side === "problem" && match_reason === "manual").length;
}

/** What a change that failed left in the banner. */
let left: AppState["failure"] = null;

/** Do it; where it fails the banner says so, until a later change succeeds. */
async function attempt(retry: () => unknown, step: () => Promise<unknown>): Promise<void> {
  const before = useApp.getState().failure;
  await guarded(retry, step);
  const { failure, set } = useApp.getState();
  if (failure !== before) left = failure;
  else if (failure !== null && failure === left) set({ failure: null });
}

/** Make a change; null where it failed, which the banner says.
 *
 * It belongs to the file that was shown when it was asked for, whichever is shown when its turn comes. */
async function change(request: Request, db = useApp.getState().db): Promise<MappingResult | null> {
  let result: MappingResult | null = null;
  if (db === null) return result;
  await attempt(
    () => change(request, db),
    async () => {
      result = await inTurn(() => apply(db, request, (history, done) => {
        const did = { added: done.added, removed: done.removed };
        const empty = did.added.length + did.removed.length === 0;
        const now: MappingHistory = { ...history, act: did.added.length === 0 && did.removed.length > 0 ? "unmade" : "made" };
        return empty ? now : { ...now, undo: [...history.undo, did], redo: [] };
      }));
    },
  );
  return result;
}

const DONE = { undo: "undone", redo: "redone" } as const;

/** Take back the last change, or make it again. What the server refuses to take back is forgotten;
 * what it never heard of is tried again. */
async function goBack(from: "undo" | "redo", db = useApp.getState().db): Promise<void> {
  const to = from === "undo" ? "redo" : "undo";
  if (db === null) return;
  await attempt(
    () => goBack(from, db),
    () =>
      inTurn(async () => {
        const last = historyOf(useMappingHistory.getState(), db)[from].at(-1);
        if (!last) return;
        const without = (history: MappingHistory) => ({ ...history, [from]: history[from].slice(0, -1) });
        const add = from === "undo" ? last.removed : last.added;
        const remove = from === "undo" ? last.added : last.removed;
        try {
          const result = await apply(db, (of) => api.changeMappings(of, add, remove), (history) => {
            const rest = without(history);
            return { ...rest, [to]: [...rest[to], last], act: from };
          });
          useApp.getState().set({ notice: { code: DONE[from], facts: { count: from === "undo" ? result.nodes.length : measuredPairs(result) } } });
        } catch (error) {
          if (isRefused(error)) setHistory(db, without);
          throw error;
        }
      }),
  );
}

/** Whether the server said no: a network that failed, or a server that broke, said nothing. */
function isRefused(error: unknown): boolean {
  return error instanceof RequestError && error.status >= 400 && error.status < 500;
}

async function apply(
  db: string,
  request: Request,
  remember: (history: MappingHistory, result: MappingResult) => MappingHistory,
): Promise<MappingResult> {
  setHistory(db, (history) => ({ ...history, result: null }));
  const result = await request(db);
  keepPairs(db, result.mappings);
  showChanged(db, result);
  queryClient.setQueryData(["db", db, "mappings"], result.mappings);
  setHistory(db, (history) => ({ ...remember(history, result), result }));
  await refreshDatabase(db);
  return result;
}

/** Show what a change did, also in a step and rank that is on its way: it may have been asked for before. */
function showChanged(db: string, { nodes }: MappingResult): void {
  const { session: before } = useApp.getState();
  if (before?.db === db) before.update(nodes);
  void switched().then(() => {
    const { session } = useApp.getState();
    if (session !== before && session?.db === db) session.update(nodes);
  });
}

/** Take in what another page mapped meanwhile; what this page mapped itself is known here. */
export function followMappings(db: string): Promise<void> {
  return inTurn(async () => {
    const known = queryClient.getQueryData(mappingsQuery(db).queryKey);
    const now = await api.mappings(db);
    if (known && JSON.stringify(known.pairs) === JSON.stringify(now.pairs)) return;
    queryClient.setQueryData(mappingsQuery(db).queryKey, now);
    const { session, selected } = useApp.getState();
    if (session?.db === db) await session.renew(selected);
    await refreshDatabase(db);
  });
}

function setHistory(db: string, next: (history: MappingHistory) => MappingHistory): void {
  useMappingHistory.setState((histories) => ({ [db]: next(historyOf(histories, db)) }));
}
