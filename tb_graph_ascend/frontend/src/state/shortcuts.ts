/* What each key does; the list in the help dialog names the same keys. */

import type { Cause, Node } from "../api/types";
import { answerQuery, databaseQuery, detailsQuery, queryClient } from "../api/queries";
import { isUnmatched } from "../graph/appearance";
import { calledAs } from "../graph/called";
import { otherSide } from "../graph/mapdrag";
import {
  destination,
  openPair,
  pickNode,
  selectNode,
  startHere,
  stepCause,
} from "./actions";
import { acceptProposal, mapHeld, pickedNode, rebuildWithPairs, redoMapping, undoMapping } from "./mapping";
import { toggleBoxes } from "./boxes";
import { moveInRows } from "./diffkeys";
import { useDiffSettings } from "./diffsettings";
import { useLayout } from "./layout";
import { ranksAt, stepsOf } from "./pairs";
import { LEFT_TABS, useApp } from "./store";

const ZOOM_STEP = 1.25;
const PAN_ROWS = 4;
const state = useApp.getState;

/** Run the action of a chord; false when it has none. */
export function runShortcut(
  chord: string,
  causes: readonly Cause[],
  onControl: boolean,
): boolean {
  if (chord === "n" || chord === "p") {
    void stepCause(causes, chord === "n" ? 1 : -1);
    return true;
  }
  const tab = LEFT_TABS[Number(chord) - 1];
  if (tab) {
    state().set({ leftTab: tab });
    // The list may be the one that was put away.
    useLayout.getState().setLists(true);
    return true;
  }
  if (!onControl && moveInGraph(chord)) return true;
  const action = ACTIONS[chord];
  action?.();
  return action !== undefined;
}

const ACTIONS: Partial<Record<string, () => void>> = {
  f: () => void startHere(),
  "/": focusSearch,
  "ctrl+k": focusSearch,
  "?": () => state().set({ dialog: "help" }),
  escape: () => state().set({ notice: null, failure: null, picks: { problem: null, benchmark: null } }),
  e: openAllBelow,
  g: toggleWay,
  c: () => state().session?.diff.closeAll(),
  t: selectPartner,
  v: toggleBoxes,
  b: () => useDiffSettings.getState().setFolded(!useDiffSettings.getState().folded),
  o: () => state().set({ recolour: state().recolour === "score" ? "overflow" : "score" }),
  m: () => void pickSelected(),
  a: () => ifMappable(acceptProposal),
  r: () => ifMappable(rebuildWithPairs),
  "+": () => pane()?.zoom(ZOOM_STEP),
  "=": () => pane()?.zoom(ZOOM_STEP),
  "-": () => pane()?.zoom(1 / ZOOM_STEP),
  "0": () => pane()?.reset(),
  // Letters exist on all layouts, brackets need a chord on some.
  h: () => shiftPair("step", -1),
  l: () => shiftPair("step", 1),
  k: () => shiftPair("rank", -1),
  j: () => shiftPair("rank", 1),
  "[": () => shiftPair("step", -1),
  "]": () => shiftPair("step", 1),
  "{": () => shiftPair("rank", -1),
  "}": () => shiftPair("rank", 1),
  "ctrl+z": () => void undoMapping(),
  "ctrl+shift+z": () => void redoMapping(),
  "ctrl+y": () => void redoMapping(),
  "shift+arrowup": () => pane()?.scrollBy(-PAN_ROWS),
  "shift+arrowdown": () => pane()?.scrollBy(PAN_ROWS),
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
function toggleWay(): void {
  const { db, session, selected, set } = state();
  if (!session || db === null) return;
  if (session.diff.way) {
    session.diff.setWay(null);
    return;
  }
  const { step, rank } = session.pair;
  const { causes = [], threshold = 0 } = queryClient.getQueryData(answerQuery(db).queryKey) ?? {};
  const node = selected === null ? undefined : session.get(selected);
  const source = node?.source;
  const here = causes.flatMap(({ places }) => places);
  const first = here.find((one) => one.step === step && one.rank === rank);
  const cause = source ?? first?.node;
  if (cause == null || selected === null) set({ notice: "noWay" });
  else if (here.some((one) => one.node === selected)) set({ notice: "wayBegins" });
  else if (node && agrees(node, threshold)) set({ notice: "noWayHere" });
  else session.diff.setWay({ cause, target: selected });
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
async function pickSelected(): Promise<void> {
  const { db, session, selected, set } = state();
  const node = selected === null ? undefined : session?.get(selected);
  if (db === null || !session?.comparison) return;
  const database = queryClient.getQueryData(databaseQuery(db).queryKey);
  if (!node) set({ notice: "pickNothing" });
  else if (!database?.writable) set({ notice: "readOnly" });
  else if (node.match !== null) {
    const { partner } = await queryClient.query(detailsQuery(db, node.id));
    const { step, rank } = session.pair;
    const pair = database.pairs.find((one) => one.step === step && one.rank === rank);
    const count = (pair?.unmatched_problem ?? 0) + (pair?.unmatched_benchmark ?? 0);
    set({ notice: { code: "matched", facts: { name: calledAs(node), partner: partner?.name ?? "", count } } });
  } else if (isUnmatched(node, true)) pickOrMap(node);
  else set({ notice: "notMappable" });
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
function ifMappable(act: () => Promise<void>): void {
  const { db, session, set } = state();
  if (db === null || !session?.comparison) return;
  if (queryClient.getQueryData(databaseQuery(db).queryKey)?.writable) void act();
  else set({ notice: "readOnly" });
}

function shiftPair(what: "step" | "rank", shift: number): void {
  const { db } = state();
  const { step, rank } = destination();
  if (db === null || step === null || rank === null) return;
  const pairs = queryClient.getQueryData(databaseQuery(db).queryKey)?.pairs ?? [];
  const values = what === "step" ? stepsOf(pairs) : ranksAt(pairs, step);
  const next = values[values.indexOf(what === "step" ? step : rank) + shift];
  if (next === undefined) return;
  if (what === "rank") void openPair(step, next);
  else void openPair(next, nearestRank(ranksAt(pairs, next), rank));
}

function nearestRank(ranks: readonly number[], rank: number): number {
  return ranks.includes(rank) ? rank : (ranks[0] ?? rank);
}
