/* What the person does: open a database, a step and rank, select, open, walk through the findings.
 * Plain functions over the store, so that keys, menus and panels do exactly the same. */

import { api } from "../api/client";
import { answerQuery, databaseQuery, queryClient } from "../api/queries";
import type { Node, Side } from "../api/types";
import { arrived, destination, nextTicket, nodeAhead, useAhead } from "./ahead";
import { useBoxes } from "./boxes";
import { prepareSearchSoon } from "./prepare";
import { DiffView } from "./diffview";
import { beginningOf, firstPlace } from "./former";
import { type Cell, type NodePlace, causeBeside, cellOf, firstPair, hasPair, isOk, sameFile } from "./places";
import { GraphSession, SIDES } from "./session";
import { type AppState, useApp } from "./store";
import { followed } from "./underway";
import type { Linked } from "./url";

const state = useApp.getState;
const ahead = useAhead.getState;
const { setState: setAhead } = useAhead;

/** Children of the root among which a micro-step is looked for. */
const TOP_LEVEL = 500;

interface DatabaseOptions {
  /** Its file was written anew. */
  replaced?: boolean;
  /** The step and rank that are meant; what begins there is selected, whatever was before. */
  at?: Cell;
}

/** Open a database at the pair of a link, else at the cell that is meant, else where it begins.
 *
 * What is on screen stays, header and rows alike, until the other is there; a failed request
 * leaves it and says so. A link to a step and rank that are gone opens no others in their place. */
export async function openDatabase(db: string, linked?: Linked, options: DatabaseOptions = {}): Promise<void> {
  const { replaced = false, at } = options;
  const ticket = nextTicket("opening");
  setAhead({ coming: null, carried: undefined });
  const done = switching(() => openDatabase(db, linked, options), async () => {
    // Both are asked for at once: the first screen needs the one and the other.
    const answer = queryClient.query(answerQuery(db));
    answer.catch(() => undefined);
    const database = await queryClient.query(databaseQuery(db));
    const pair = linked ? cellOf(linked) : (at ?? null);
    if (pair && !hasPair(database, pair)) {
      if (ticket === ahead().opening) leave({ db, gone: { what: "pair", ...pair } });
      return;
    }
    const first = linked && pair ? undefined : firstPlace(await answer, at);
    const place = pair ?? firstPair(database, first);
    const link = linked && sameFile(linked, database) ? linked : undefined;
    if (ticket !== ahead().opening) return;
    if (!place) leave({ db });
    else await show(ticket, { db, ...place }, { linked: link, select: first?.node, ok: isOk(database, place), anew: replaced });
    if (linked && !link) state().set({ notice: "rebuilt" });
    if (replaced && ticket === ahead().opening) state().set({ notice: "replaced" });
  });
  const arrival = { db, done };
  setAhead({ arriving: arrival, settled: done });
  await done;
  if (ahead().arriving === arrival) setAhead({ arriving: null });
}

/** Go to a node; until one is there, keys go on from it. */
async function towards(node: number, run: () => Promise<void>): Promise<void> {
  // A record of its own for each way: an earlier way to the same place must not end this one.
  const way = { node };
  setAhead({ heading: way });
  await followed(run);
  if (ahead().heading === way) setAhead({ heading: null });
}

/** Show that something is not there any more, and nothing in its place. */
export function leave(shown: Partial<Pick<AppState, "db" | "gone">>): void {
  nextTicket("opening");
  setAhead({ arriving: null, coming: null, carried: undefined });
  const picks = { problem: null, benchmark: null };
  state().set({ gone: null, ...shown, step: null, rank: null, selected: null, session: null, picks });
}

interface OpenOptions {
  /** Node to select; without it the selection is carried over by name. */
  select?: number | undefined;
  linked?: Linked | undefined;
  /** Nothing of what is shown holds any more: the file is another. */
  anew?: boolean;
  /** Known to have rows, before it is asked for. */
  ok?: boolean;
  /** Of the selection that the person asked for. */
  ticket?: number | undefined;
}

/** Show a (step, rank), keeping what is open and selected where it exists there too. */
export function openPair(step: number, rank: number, options: OpenOptions = {}): Promise<void> {
  const { db } = state();
  if (db === null) return Promise.resolve();
  const ticket = nextTicket("opening");
  setAhead({ arriving: null, coming: { step, rank } });
  const settled = switching(
    () => openPair(step, rank, { ...options, ticket: undefined }),
    () => show(ticket, { db, step, rank }, options),
  ).finally(() => {
    if (ticket === ahead().opening) setAhead({ coming: null });
  });
  setAhead({ settled });
  return settled;
}

interface Place {
  db: string;
  step: number;
  rank: number;
}

async function show(ticket: number, place: Place, options: OpenOptions): Promise<void> {
  const { session: before, selected } = state();
  const { db, step, rank } = place;
  const previous = before?.db === db && !options.anew ? before : null;
  const node = selected === null ? ahead().carried : previous?.get(selected);
  setAhead({ carried: node });
  const chosen = options.select ?? options.linked?.selected ?? null;
  const diff = new DiffView(place, options.linked?.open);
  // Where nothing is carried over, rows and graphs are asked for at once.
  if (options.ok && (options.linked || !previous)) void diff.start(chosen);
  const session = new GraphSession(db, await api.pair(db, step, rank), diff);
  if (!options.linked && previous) keepRowsOpen(session, previous);
  const { found, failed } = chosen === null ? await twin(session, node) : { found: chosen, failed: false };
  const select = found;
  if (ticket !== ahead().opening) return;
  if (session.pair.status === "ok") void diff.start(select);
  const fresh = previous ? {} : { picks: { problem: null, benchmark: null } };
  // What was looked for in another file says nothing in this one; a link brings its own.
  const asked = before && before.db !== db && !options.linked ? { query: "" } : {};
  // Nor does what was said of it.
  const unsaid = before && before.db !== db ? { notice: null } : {};
  const microStep = options.linked?.microStep ?? null;
  state().set({ ...place, ...fresh, ...asked, ...unsaid, microStep, session, selected: null, gone: null, failure: null });
  if (failed) state().set({ notice: "selectionLost" });
  graphFollows(session, { fresh: !previous, select, linked: options.linked });
  prepareSearchSoon(session);
  const view = options.linked?.view;
  // What the person selected since waits for this pair and comes after it: it keeps its ticket.
  if (select != null) await selectIn(session, select, { keepView: view != null, ticket: options.ticket ?? ahead().selecting });
  if (view) session.diff.pane?.setTop(view.y);
  if (ticket === ahead().opening) setAhead({ carried: undefined });
}

/** What is shown as a graph in another pair; a single graph starts as one, its root. */
function graphFollows(
  session: GraphSession,
  { fresh, select, linked }: { fresh: boolean; select: number | null; linked: Linked | undefined },
): void {
  const root = session.root?.id ?? null;
  if (linked && linked.graph !== null) useBoxes.setState({ module: linked.graph === 0 ? null : linked.graph, open: linked.boxes, across: linked.across });
  else if (fresh) useBoxes.setState({ module: session.comparison ? null : root, open: [] });
  // A single graph has no causes to list; its modules are what one looks for first.
  if (fresh && !linked && !session.comparison && state().leftTab === "causes") state().set({ leftTab: "outline" });
  else if (useBoxes.getState().module !== null) useBoxes.setState({ module: select ?? root, open: [] });
}

/** Run a switch; the page is busy while any is under way. */
async function switching(retry: () => unknown, step: () => Promise<unknown>): Promise<void> {
  const mine = nextTicket("switches");
  state().set({ busy: true });
  await followed(() => guarded(retry, step));
  if (mine === ahead().switches) state().set({ busy: false });
}

interface SelectOptions {
  keepView?: boolean;
  ticket?: number | undefined;
}

/** Select a node, open the rows around it and scroll to it. */
export async function selectNode(id: number, options: SelectOptions = {}): Promise<void> {
  const { db } = state();
  const ticket = options.ticket ?? nextTicket("selecting");
  await towards(id, async () => {
    await ahead().settled;
    const { session } = state();
    // The number of a node means nothing in a file that was opened meanwhile.
    if (session?.db !== db) return;
    await guarded(
      () => selectNode(id, { ...options, ticket: undefined }),
      () => selectIn(session, id, { ...options, ticket }),
    );
  });
}

async function selectIn(session: GraphSession, id: number, options: SelectOptions): Promise<void> {
  const overtaken = (): boolean => options.ticket !== ahead().selecting || state().session !== session;
  const node = await session.load(id);
  if (!node || overtaken()) return;
  state().set({ selected: id });
  session.diff.setCursor(null);
  await session.diff.reveal(id, { middle: !options.keepView });
}

/** Select the first cause of all, switching step and rank where it is elsewhere. */
export async function startHere(): Promise<void> {
  const ticket = nextTicket("selecting");
  const focused = document.activeElement;
  await followed(async () => {
    await ahead().settled;
    const { db } = state();
    if (db === null) return;
    await guarded(startHere, async () => {
      const first = beginningOf(await queryClient.query(answerQuery(db)));
      if (first) await showPlace(first, ticket, focused);
      else state().set({ notice: "noFindings" });
    });
  });
}

/** Select a node that a part of the details leads to: that part goes away, and the rows take its focus over. */
export async function followTo(id: number): Promise<void> {
  await selectNode(id);
  if (document.activeElement === document.body) state().session?.diff.pane?.focus();
}

/** Show where something begins, and let the keys move on from there.
 *
 * Who went on to another control meanwhile stays there: what is typed belongs to it. */
export async function showPlace(
  place: NodePlace,
  ticket = nextTicket("selecting"),
  focused = document.activeElement,
): Promise<void> {
  await openPlace(place, ticket);
  if (document.activeElement === focused) state().session?.diff.pane?.focus();
}

/** Show a node of any step and rank, with its values. */
export async function openPlace(place: NodePlace, ticket = nextTicket("selecting")): Promise<void> {
  state().set({ bottomTab: "values" });
  await goTo(place, ticket);
}

/** Select a node of any step and rank; what was asked for since stays selected. */
export async function goTo({ step, rank, node }: NodePlace, ticket = nextTicket("selecting")): Promise<void> {
  if (ticket !== ahead().selecting) return;
  const shown = destination();
  if (step === shown.step && rank === shown.rank) await selectNode(node, { ticket });
  else await towards(node, () => openPair(step, rank, { select: node, ticket }));
}

/** Go to the cause after (+1) or before (−1) the selected one, around the end. */
export async function stepCause(direction: 1 | -1): Promise<void> {
  await followed(async () => {
    await arrived();
    const { db } = state();
    if (db === null) return;
    await guarded(() => stepCause(direction), async () => {
      const { causes } = await queryClient.query(answerQuery(db));
      const next = causeBeside(causes, nodeAhead(), direction);
      if (next) await openPlace(next);
    });
  });
}

/** Bring one micro-step forward (null: all alike) and scroll to where it begins. */
export async function chooseMicroStep(microStep: number | null): Promise<void> {
  const { session, set } = state();
  set({ microStep });
  if (microStep === null || !session?.root) return;
  const { db, root } = session;
  await guarded(() => chooseMicroStep(microStep), async () => {
    const { children } = await api.children(db, root.id, 0, TOP_LEVEL);
    const first = children.find((node) => node.micro_step === microStep);
    if (first) await selectNode(first.id);
  });
}

/** Remember a node as one half of a manual mapping. */
export function pickNode(node: Node): void {
  const { picks, set } = state();
  set({ picks: { ...picks, [node.side]: node }, leftTab: "mapping" });
}

/** Run a step and turn its failure into the banner with "retry". */
export async function guarded(retry: () => unknown, step: () => Promise<unknown>): Promise<void> {
  try {
    await step();
  } catch (error) {
    state().set({ failure: { error, retry: () => void retry() } });
  }
}

/** The node of the same name in another pair. A look-up that fails does not keep one from the other pair. */
async function twin(session: GraphSession, node: Node | undefined): Promise<{ found: number | null; failed: boolean }> {
  if (!node) return { found: null, failed: false };
  try {
    return { found: await named(session, node.name, node.side), failed: false };
  } catch {
    return { found: null, failed: true };
  }
}

/** The node of a name in the pair of a session. */
async function named({ db, pair: { step, rank } }: GraphSession, name: string, side: Side): Promise<number | null> {
  const q = `^${name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}$`;
  const { hits } = await api.search(db, step, rank, { q, regex: true, case: true, side, limit: 1 });
  return hits[0]?.id ?? null;
}

/** Go to the node of a name in a step and rank: that of the side, else that of the other. */
export async function goToNamed({ step, rank }: Cell, name: string, side: Side = "problem"): Promise<void> {
  await guarded(() => goToNamed({ step, rank }, name, side), async () => {
    const shown = destination();
    if (step !== shown.step || rank !== shown.rank) await openPair(step, rank);
    await ahead().settled;
    const { session } = state();
    if (session?.pair.step !== step || session.pair.rank !== rank) return;
    const other = side === "problem" ? "benchmark" : "problem";
    const node = (await named(session, name, side)) ?? (await named(session, name, other));
    if (node === null) state().set({ notice: "notHere" });
    else await openPlace({ step, rank, node });
  });
}

/** Open the rows that were open in the pair before, where its nodes are alike. */
function keepRowsOpen(session: GraphSession, previous: GraphSession): void {
  session.outline.adopt(previous.outline);
  session.diff.adopt(previous.diff, (key) => shifted(previous, session, key));
}

/** The id of the node at the same place of the same side, where both graphs are equally large. */
function shifted(from: GraphSession, to: GraphSession, key: number): number | null {
  for (const side of SIDES) {
    const [before, after] = [from.pair[side], to.pair[side]];
    if (!before || before.nodes !== after?.nodes) continue;
    const at = key - before.root.id;
    if (at >= 0 && at <= 2 * before.nodes) return after.root.id + at;
  }
  return null;
}
