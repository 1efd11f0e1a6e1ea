/* What the person does: open a database, a step and rank, select, open, walk through the findings.
 * Plain functions over the store, so that keys, menus and panels do exactly the same. */

import { api } from "../api/client";
import { databaseQuery, findingsQuery, queryClient } from "../api/queries";
import type { Database, Finding, Node, Side } from "../api/types";
import type { Move } from "./outlinekeys";
import { reopen, shapeOf, textToShape } from "./openshape";
import { prepareSearchSoon } from "./prepare";
import { GraphSession, SIDES } from "./session";
import { useApp } from "./store";
import type { Linked } from "./url";

const state = useApp.getState;

/** Counts openings, so that a slow earlier one cannot overwrite a later one. */
let opening = 0;
/** The opening under way: what is selected meanwhile belongs to the pair that comes. */
let settled: Promise<void> = Promise.resolve();
/** Counts selections, so that a slow earlier one cannot overwrite a later one. */
let selecting = 0;
/** The finding under way: a key pressed meanwhile goes on from there, not from what is still shown. */
let heading: { finding: Finding } | null = null;

/** Open a database at the pair of a link, else where its first finding is. */
export async function openDatabase(db: string, linked?: Linked): Promise<void> {
  const ticket = ++opening;
  state().set({ db, step: null, rank: null, selected: null, session: null, failure: null });
  state().set({ picks: { problem: null, benchmark: null }, pairChosen: linked?.step != null });
  await guarded(() => openDatabase(db, linked), async () => {
    // Both are asked for at once: the first screen needs the one and the other.
    const findings = queryClient.query(findingsQuery(db));
    findings.catch(() => undefined);
    const database = await queryClient.query(databaseQuery(db));
    const pair = linkedPair(database, linked) ?? firstPair(database, (await findings).findings[0]);
    if (ticket === opening && pair) await openPair(pair.step, pair.rank, { linked });
  });
}

interface OpenOptions {
  /** Node to select; without it the selection is carried over by name. */
  select?: number | undefined;
  linked?: Linked | undefined;
}

/** Show a (step, rank), keeping what is open and selected where it exists there too. */
export function openPair(step: number, rank: number, options: OpenOptions = {}): Promise<void> {
  settled = switchPair(step, rank, options);
  return settled;
}

async function switchPair(step: number, rank: number, options: OpenOptions): Promise<void> {
  const { db, session: previous, selected } = state();
  if (db === null) return;
  const ticket = ++opening;
  state().set({ step, rank, failure: null, microStep: options.linked?.microStep ?? null });
  await guarded(() => openPair(step, rank, options), async () => {
    const session = new GraphSession(db, await api.pair(db, step, rank));
    session.link.enabled = state().sync;
    await Promise.all([loadRoots(session), restoreOpen(session, previous, options.linked)]);
    const before = selected === null ? undefined : previous?.get(selected);
    const select = options.select ?? options.linked?.selected ?? (await twin(session, before));
    if (ticket !== opening) return;
    state().set({ session, selected: null });
    prepareSearchSoon(session);
    await session.link.ready;
    const view = options.linked?.view;
    if (view) session.link.view("problem")?.follow(view);
    if (select != null) await selectIn(session, select, { still: true, keepView: view != null });
    else session.link.moved("problem");
  });
}

/** Choose a cell of the matrix. */
export function choosePair(step: number, rank: number): Promise<void> {
  state().set({ pairChosen: true });
  return openPair(step, rank);
}

interface SelectOptions {
  /** Jump instead of gliding. */
  still?: boolean;
  keepView?: boolean;
}

/** Select a node, open its ancestors on both sides and scroll both panes to it. */
export async function selectNode(id: number, options: SelectOptions = {}): Promise<void> {
  await settled;
  const { session } = state();
  if (!session) return;
  await guarded(() => selectNode(id, options), () => selectIn(session, id, options));
}

/** Select the child at a position, loading it where it is not loaded yet. */
export async function selectChild(parent: Node, position: number): Promise<void> {
  const { session } = state();
  await guarded(() => selectChild(parent, position), async () => {
    await session?.load(parent.side, parent.id, position);
    const child = session?.tree(parent.side)?.childAt(parent.id, position);
    if (child) await selectNode(child.id);
  });
}

async function selectIn(session: GraphSession, id: number, options: SelectOptions): Promise<void> {
  const ticket = ++selecting;
  const overtaken = (): boolean => ticket !== selecting || state().session !== session;
  const node = await session.reveal(id);
  if (!node || overtaken()) return;
  state().set({ selected: id, outlineSide: node.side });
  const anchor = state().sync ? await anchorOf(session, node) : null;
  if (overtaken()) return;
  session.link.setAnchor(anchor);
  if (!options.keepView) session.link.view(node.side)?.show(node, !options.still);
  session.link.moved(node.side);
}

/** Open or close a node; its partner follows while the panes are synchronised. */
export async function toggleNode(node: Node): Promise<void> {
  const { session, sync } = state();
  await guarded(() => toggleNode(node), async () => session?.toggle(node, sync));
}

/** Do what a tree key asks at a node. */
export function moveFrom(node: Node, move: Move): void {
  if ("toggle" in move) void toggleNode(node);
  else if ("parent" in move) {
    const root = state().session?.tree(node.side)?.root;
    if (move.parent) void selectChild(move.parent, move.position);
    else if (root) void selectNode(root.id);
  }
}

/** Select the first finding of all, switching step and rank where it is elsewhere. */
export async function startHere(): Promise<void> {
  const { db } = state();
  if (db === null) return;
  await guarded(startHere, async () => {
    const { findings } = await queryClient.query(findingsQuery(db));
    const first = findings[0];
    if (first) await openFinding(first);
    else state().set({ notice: "noFindings" });
  });
}

/** Show a finding: its pair, its node, its values. */
export async function openFinding(finding: Finding): Promise<void> {
  const { step, rank, set } = state();
  set({ bottomTab: "values", pairChosen: true });
  if (finding.step !== step || finding.rank !== rank) {
    await openPair(finding.step, finding.rank, { select: finding.node.id });
  } else {
    await selectNode(finding.node.id);
  }
}

/** Go to the finding after (+1) or before (−1) the selected one, around the end. */
export async function stepFinding(findings: readonly Finding[], direction: 1 | -1): Promise<void> {
  if (findings.length === 0) return;
  const here = heading?.finding.node.id ?? state().selected;
  const current = findings.findIndex((finding) => finding.node.id === here);
  const start = current < 0 && direction < 0 ? 0 : current;
  const next = findings[(start + direction + findings.length) % findings.length];
  if (!next) return;
  const mine = { finding: next };
  heading = mine;
  await openFinding(next);
  if (heading === mine) heading = null;
}

/** Expand everything below the selected node (or the root), on both sides when synchronised. */
export async function expandAllBelow(node?: Node): Promise<void> {
  const { session, sync, selected, set } = state();
  const start = node ?? (selected === null ? undefined : session?.get(selected)) ?? anyRoot(session);
  if (!session || !start) return;
  await guarded(() => expandAllBelow(start), async () => {
    const partner = start.match !== null && sync ? await session.reveal(start.match) : undefined;
    const whole = await Promise.all([start, partner].map((one) => (one ? session.expandAll(one) : Promise.resolve(true))));
    if (whole.includes(false)) set({ notice: "expandLimit" });
  });
}

/** Bring one micro-step forward (null: all alike) and scroll to where it begins. */
export async function chooseMicroStep(microStep: number | null): Promise<void> {
  const { session, set } = state();
  set({ microStep });
  const root = anyRoot(session);
  if (microStep === null || !session || !root) return;
  const tree = session.tree(root.side);
  const places = Array.from({ length: root.children }, (_, at) => tree?.childAt(root.id, at));
  const first = places.find((node) => node?.micro_step === microStep);
  if (first) await selectNode(first.id);
}

export function setSync(sync: boolean): void {
  const { session, set } = state();
  set({ sync });
  if (session) session.link.enabled = sync;
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

function anyRoot(session: GraphSession | null): Node | undefined {
  return session?.trees.problem?.root ?? session?.trees.benchmark?.root;
}

function linkedPair(database: Database, linked?: Linked) {
  return database.pairs.find((pair) => pair.step === linked?.step && pair.rank === linked.rank);
}

function firstPair({ pairs }: Database, first: Finding | undefined) {
  const found = first && pairs.find(({ step, rank }) => step === first.step && rank === first.rank);
  return found ?? pairs.find(({ status }) => status === "ok") ?? pairs[0];
}

/** The first page of either side, so that the first frame has boxes. */
async function loadRoots(session: GraphSession): Promise<void> {
  const roots = SIDES.map((side) => session.tree(side)?.root).filter((root) => root !== undefined);
  await Promise.all(roots.map(({ side, id }) => session.load(side, id, 0)));
}

async function restoreOpen(
  session: GraphSession,
  previous: GraphSession | null,
  linked: Linked | undefined,
): Promise<void> {
  await Promise.all(
    SIDES.map(async (side) => {
      const tree = session.tree(side);
      const before = previous?.tree(side);
      if (!tree) return;
      const shapes = linked ? textToShape(linked.open[side]) : before ? shapeOf(before) : [];
      await reopen(tree, (parent, position) => session.load(side, parent, position), shapes);
    }),
  );
}

/** The node of the same name in another pair. */
async function twin(session: GraphSession, node: Node | undefined): Promise<number | null> {
  if (!node) return null;
  const { step, rank } = session.pair;
  const q = `^${node.name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}$`;
  const query = { q, regex: true, case: true, side: node.side, limit: 1 };
  const { hits } = await api.search(session.db, step, rank, query);
  return hits[0]?.id ?? null;
}

/** The matched pair at which both panes line up: the node itself, or the nearest before or above it. */
async function anchorOf(session: GraphSession, node: Node): Promise<Record<Side, Node> | null> {
  let near: Node | undefined = node;
  while (near?.match === null) near = before(session, near);
  const partner = near?.match == null ? undefined : await session.reveal(near.match);
  if (!near || !partner) return null;
  const isParent = near.id === node.parent;
  if (isParent && session.tree(partner.side)?.open(partner.id)) session.changed();
  return sides(near, partner);
}

function before(session: GraphSession, node: Node): Node | undefined {
  if (node.parent === null) return undefined;
  const tree = session.tree(node.side);
  return tree?.childAt(node.parent, node.position - 1) ?? tree?.get(node.parent);
}

function sides(node: Node, other: Node): Record<Side, Node> {
  return node.side === "problem"
    ? { problem: node, benchmark: other }
    : { problem: other, benchmark: node };
}
