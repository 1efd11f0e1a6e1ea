/* What each key does; the list in the help dialog names the same keys. */

import type { Finding } from "../api/types";
import { databaseQuery, queryClient } from "../api/queries";
import {
  choosePair,
  expandAllBelow,
  moveFrom,
  pickNode,
  selectNode,
  setSync,
  startHere,
  stepFinding,
} from "./actions";
import { OutlineRows } from "../graph/rows";
import { redoMapping, undoMapping } from "./mapping";
import { outlineMove } from "./outlinekeys";
import { ranksAt, stepsOf } from "./pairs";
import { LEFT_TABS, useApp } from "./store";

const ZOOM_STEP = 1.25;
const PAN_PX = 80;
const state = useApp.getState;

/** Run the action of a chord; false when it has none. */
export function runShortcut(
  chord: string,
  findings: readonly Finding[],
  onControl: boolean,
): boolean {
  if (chord === "n" || chord === "p") {
    void stepFinding(findings, chord === "n" ? 1 : -1);
    return true;
  }
  const tab = LEFT_TABS[Number(chord) - 1];
  if (tab) {
    state().set({ leftTab: tab });
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
  escape: () => state().set({ notice: null, failure: null }),
  e: () => void expandAllBelow(),
  c: collapseAll,
  t: selectPartner,
  s: () => setSync(!state().sync),
  o: () => state().set({ recolour: state().recolour === "score" ? "overflow" : "score" }),
  m: pickSelected,
  "+": () => leadingView()?.zoom(ZOOM_STEP),
  "=": () => leadingView()?.zoom(ZOOM_STEP),
  "-": () => leadingView()?.zoom(1 / ZOOM_STEP),
  "0": () => state().session?.link.fitAll(),
  "[": () => shiftPair("step", -1),
  "]": () => shiftPair("step", 1),
  "{": () => shiftPair("rank", -1),
  "}": () => shiftPair("rank", 1),
  "ctrl+z": () => void undoMapping(),
  "ctrl+shift+z": () => void redoMapping(),
  "ctrl+y": () => void redoMapping(),
  "shift+arrowup": () => leadingView()?.pan(0, -PAN_PX),
  "shift+arrowdown": () => leadingView()?.pan(0, PAN_PX),
  "shift+arrowleft": () => leadingView()?.pan(-PAN_PX, 0),
  "shift+arrowright": () => leadingView()?.pan(PAN_PX, 0),
};

const TREE_KEYS: Partial<Record<string, string>> = {
  arrowup: "ArrowUp",
  arrowdown: "ArrowDown",
  arrowleft: "ArrowLeft",
  arrowright: "ArrowRight",
  enter: "Enter",
};

function moveInGraph(chord: string): boolean {
  const { session, selected } = state();
  const key = TREE_KEYS[chord];
  if (!session || key === undefined) return false;
  const node = (selected === null ? undefined : session.get(selected)) ?? session.trees.problem?.root;
  const tree = node && session.tree(node.side);
  if (!node || !tree) return false;
  const move = outlineMove(key, node, tree, new OutlineRows(tree));
  if (move) moveFrom(node, move);
  return move !== null;
}

function leadingView() {
  const { session, selected } = state();
  const side = (selected === null ? undefined : session?.get(selected))?.side ?? "problem";
  return session?.link.view(side) ?? session?.link.view("problem");
}

function focusSearch(): void {
  const input = document.getElementById("search");
  if (input instanceof HTMLInputElement) {
    input.focus();
    input.select();
  }
}

function collapseAll(): void {
  const { session } = state();
  session?.collapseAll();
  session?.link.fitAll();
}

function selectPartner(): void {
  const { session, selected } = state();
  const match = selected === null ? null : session?.get(selected)?.match;
  if (match != null) void selectNode(match);
}

function pickSelected(): void {
  const { db, session, selected } = state();
  const node = selected === null ? undefined : session?.get(selected);
  const database = db === null ? undefined : queryClient.getQueryData(databaseQuery(db).queryKey);
  if (database?.writable && node && session?.comparison && node.match === null) pickNode(node);
}

function shiftPair(what: "step" | "rank", shift: number): void {
  const { db, step, rank } = state();
  if (db === null || step === null || rank === null) return;
  const pairs = queryClient.getQueryData(databaseQuery(db).queryKey)?.pairs ?? [];
  const values = what === "step" ? stepsOf(pairs) : ranksAt(pairs, step);
  const next = values[values.indexOf(what === "step" ? step : rank) + shift];
  if (next === undefined) return;
  if (what === "rank") void choosePair(step, next);
  else void choosePair(next, nearestRank(ranksAt(pairs, next), rank));
}

function nearestRank(ranks: readonly number[], rank: number): number {
  return ranks.includes(rank) ? rank : (ranks[0] ?? rank);
}
