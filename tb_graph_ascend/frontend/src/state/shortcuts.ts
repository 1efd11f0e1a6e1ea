/* What each key does; the list in the help dialog names the same keys. */

import { isServed } from "../api/client";
import type { Answer, Database, Node, PlacedHop, PlacedTrace } from "../api/types";
import { answerQuery, databaseQuery, detailsQuery, queryClient, traceQuery } from "../api/queries";
import { isUnmatched } from "../graph/appearance";
import { calledAs } from "../graph/called";
import { otherSide } from "../graph/mapdrag";
import {
  guarded,
  openPair,
  pickNode,
  selectNode,
  startHere,
  stepCause,
} from "./actions";
import { arrived, destination } from "./ahead";
import { askFocus } from "./askedfocus";
import { acceptProposal, mapHeld, pickedNode, rebuildWithPairs, redoMapping, undoMapping } from "./mapping";
import { toggleBoxes, useBoxes } from "./boxes";
import { moveInRows } from "./diffkeys";
import { useDiffSettings } from "./diffsettings";
import { useLayout } from "./layout";
import { isPlaceOf } from "./causes";
import { ranksAt, stepsOf } from "./pairs";
import type { GraphSession } from "./session";
import { LEFT_TABS, useApp } from "./store";
import { nextTip } from "./tip";
import { withSelection } from "./underway";

const ZOOM_STEP = 1.25;
const PAN_ROWS = 4;
const state = useApp.getState;

/** Run the action of a chord; false when it has none. */
export function runShortcut(chord: string, onControl: boolean): boolean {
  const tab = LEFT_TABS[Number(chord) - 1];
  if (tab) {
    state().set({ leftTab: tab });
    // The list may be the one that was put away.
    useLayout.getState().setLists(true);
    return true;
  }
  if (!onControl && moveInGraph(chord)) return true;
  const action = ACTIONS[chord];
  const withNode = WITH_SELECTION[chord];
  action?.();
  // Pressed right after a key that selects, they are of what that one selects.
  if (withNode) withSelection(withNode);
  return action !== undefined || withNode !== undefined;
}

const ACTIONS: Partial<Record<string, () => void>> = {
  f: () => void startHere(),
  n: () => void stepCause(1),
  p: () => void stepCause(-1),
  "/": focusSearch,
  "ctrl+k": focusSearch,
  d: focusDetails,
  i: nextTip,
  "?": () => state().set({ dialog: "help" }),
  escape: () => state().set({ notice: null, failure: null, picks: { problem: null, benchmark: null } }),
  c: () => state().session?.diff.closeAll(),
  b: () => useDiffSettings.getState().setFolded(!useDiffSettings.getState().folded),
  o: () => state().set({ recolour: state().recolour === "score" ? "overflow" : "score" }),
  a: () => void ifMappable(acceptProposal),
  r: () => void ifMappable(() => rebuildWithPairs()),
  "+": () => zoomBy(ZOOM_STEP),
  "=": () => zoomBy(ZOOM_STEP),
  "-": () => zoomBy(1 / ZOOM_STEP),
  "0": resetZoom,
  // Letters exist on all layouts, brackets need a chord on some.
  h: () => void shiftPair("step", -1),
  l: () => void shiftPair("step", 1),
  k: () => void shiftPair("rank", -1),
  j: () => void shiftPair("rank", 1),
  "[": () => void shiftPair("step", -1),
  "]": () => void shiftPair("step", 1),
  "{": () => void shiftPair("rank", -1),
  "}": () => void shiftPair("rank", 1),
  "ctrl+z": () => void undoMapping(),
  "ctrl+shift+z": () => void redoMapping(),
  "ctrl+y": () => void redoMapping(),
  "shift+arrowup": () => pane()?.scrollBy(-PAN_ROWS),
  "shift+arrowdown": () => pane()?.scrollBy(PAN_ROWS),
};

/** What is done with the selected node. */
const WITH_SELECTION: Partial<Record<string, () => void>> = {
  e: openAllBelow,
  g: () => void toggleWay(),
  t: selectPartner,
  v: () => {
    askFocus();
    toggleBoxes();
  },
  m: () => void pickSelected(),
};

const TREE_KEYS: Partial<Record<string, string>> = {
  arrowup: "ArrowUp",
  arrowdown: "ArrowDown",
  arrowleft: "ArrowLeft",
  arrowright: "ArrowRight",
  enter: "Enter",
  home: "Home",
  end: "End",
  pageup: "PageUp",
  pagedown: "PageDown",
};

function moveInGraph(chord: string): boolean {
  const { session } = state();
  const key = TREE_KEYS[chord];
  return session !== null && key !== undefined && moveInRows(key, session.diff);
}

/** To the tabs of what is known of the selected node, which the arrows switch. */
function focusDetails(): void {
  document.querySelector<HTMLElement>(".panel.bottom [role=tab][aria-selected=true]")?.focus();
}

/** Of the graph where it is on screen, else of the rows. */
function zoomBy(factor: number): void {
  const graph = useBoxes.getState().view;
  if (graph) graph.zoom(factor);
  else pane()?.zoom(factor);
}

function resetZoom(): void {
  const graph = useBoxes.getState().view;
  if (graph) graph.fit();
  else pane()?.reset();
}

function pane() {
  return state().session?.diff.pane;
}

/** Open all below the selected row, or all; the first rows need not be there yet. */
function openAllBelow(): void {
  const { session, selected } = state();
  if (!session) return;
  const { pages } = session.diff;
  const row = pages.at(selected === null ? 0 : Math.max(0, pages.find(selected)));
  const key = row?.key ?? session.root?.id;
  if (key !== undefined) session.diff.openAll(key, row);
}

/** Show only what leads from the cause to the selected row, or all again. */
function toggleWay(): Promise<void> {
  const { session } = state();
  if (session?.diff.way) {
    session.diff.setWay(null);
    return Promise.resolve();
  }
  return guarded(toggleWay, async () => {
    if (!session) return;
    const { selected } = state();
    const trace = selected === null ? { hops: [], finding: null } : await queryClient.query(traceQuery(session.db, selected));
    const answer = await queryClient.query(answerQuery(session.db));
    if (state().selected === selected) showWay(session, answer, trace);
  });
}

/** Where a way goes on in an earlier step: the node here that reads what that step wrote. */
function goesBack(hops: readonly PlacedHop[]): { reader: number; step: number } | null {
  const at = hops.findIndex(({ step }) => step !== null);
  const reader = hops[at - 1]?.node;
  const step = hops[at]?.step;
  return reader === undefined || step == null ? null : { reader, step };
}

function showWay(session: GraphSession, { causes, threshold }: Answer, { hops, finding }: Pick<PlacedTrace, "hops" | "finding">): void {
  const { session: shown, selected, set } = state();
  if (shown !== session) return;
  const { step, rank } = session.pair;
  const node = selected === null ? undefined : session.get(selected);
  const source = node?.source;
  const here = causes.flatMap(({ places }) => places);
  const first = here.find((one) => one.step === step && one.rank === rank);
  const back = goesBack(hops);
  const cause = back?.reader ?? source ?? first?.node;
  if (cause == null || selected === null) set({ notice: "noWay" });
  else if (causes.some((one) => isPlaceOf(one, selected))) set({ notice: "wayBegins" });
  else if (node && agrees(node, threshold)) set({ notice: "noWayHere" });
  else if (!back && finding === null) set({ notice: "wayUnknown" });
  else {
    session.diff.setWay({ cause, target: selected });
    if (back) set({ notice: { code: "wayEarlier", facts: { step: back.step } } });
  }
}

/** Whether a difference is known neither of a node nor of anything in it. */
function agrees({ match, score, source, divergent_below: below }: Node, threshold: number): boolean {
  return match !== null && source === null && below === 0 && (score ?? 0) <= threshold;
}

function focusSearch(): void {
  const input = document.getElementById("search");
  if (input instanceof HTMLInputElement) {
    input.focus();
    input.select();
  }
}

function selectPartner(): void {
  const { session, selected } = state();
  const match = selected === null ? null : session?.get(selected)?.match;
  if (match != null) void selectNode(match);
}

/** Take the selected node for a mapping, or say why it cannot be taken. */
function pickSelected(): Promise<void> {
  const { session, selected, set } = state();
  if (!session?.comparison) return Promise.resolve();
  const node = selected === null ? undefined : session.get(selected);
  if (!node) {
    set({ notice: "pickNothing" });
    return Promise.resolve();
  }
  return guarded(pickSelected, async () => {
    const database = await queryClient.query(databaseQuery(session.db));
    if (!database.writable) set({ notice: isServed() ? "readOnly" : "noServer" });
    else if (node.match !== null) await sayMatched(session, node, database);
    else if (isUnmatched(node, true)) pickOrMap(node);
    else set({ notice: "notMappable" });
  });
}

/** Say whose partner a node is, and how many others have none. */
async function sayMatched({ db, pair: { step, rank } }: GraphSession, node: Node, { pairs }: Database): Promise<void> {
  const { partner } = await queryClient.query(detailsQuery(db, node.id));
  const pair = pairs.find((one) => one.step === step && one.rank === rank);
  const count = (pair?.unmatched_problem ?? 0) + (pair?.unmatched_benchmark ?? 0);
  state().set({ notice: { code: "matched", facts: { name: calledAs(node), partner: partner?.name ?? "", count } } });
}

/** The first of two picks waits for its partner; the second, on the other side, maps both. */
function pickOrMap(node: Node): void {
  const first = pickedNode(state().picks);
  if (first && first.side !== node.side) void mapHeld(first, { id: node.id, label: calledAs(node) });
  else {
    pickNode(node);
    const facts = { name: calledAs(node), side: node.side, other: otherSide(node.side) };
    state().set({ notice: { code: "picked", facts } });
  }
}

/** Mappings of this database, or why there can be none. */
async function ifMappable(act: () => Promise<void>): Promise<void> {
  const { db, session, set } = state();
  if (db === null || !session?.comparison) return;
  await guarded(() => ifMappable(act), async () => {
    if ((await queryClient.query(databaseQuery(db))).writable) await act();
    else set({ notice: "readOnly" });
  });
}

/** Go to the step or rank beside the one that is shown, or on its way. */
async function shiftPair(what: "step" | "rank", shift: number): Promise<void> {
  await arrived();
  const { db } = state();
  if (db === null) return;
  await guarded(() => shiftPair(what, shift), async () => {
    const { pairs } = await queryClient.query(databaseQuery(db));
    const { step, rank } = destination();
    if (step === null || rank === null) return;
    const values = what === "step" ? stepsOf(pairs) : ranksAt(pairs, step);
    const next = values[values.indexOf(what === "step" ? step : rank) + shift];
    if (next === undefined) return;
    if (what === "rank") void openPair(step, next);
    else void openPair(next, nearestRank(ranksAt(pairs, next), rank));
  });
}

function nearestRank(ranks: readonly number[], rank: number): number {
  return ranks.includes(rank) ? rank : (ranks[0] ?? rank);
}
