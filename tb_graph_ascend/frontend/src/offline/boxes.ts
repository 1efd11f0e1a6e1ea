/* One open module as a graph, as `view/diff/boxes.py` has it. */

import type { DiffRow, GraphBox, GraphEdge, GraphInput, ModuleGraph } from "../api/types";
import { type Arrow, arrowsOf, fedPlaces, inputReaders, nextArrows, producersOf, unsureRows } from "./arrows";
import { at, partOf } from "./blocks";
import { type Pair, type PictureCells, type RowCells, above } from "./pair";
import { type RowFacts, lastRow, listed, rowAt } from "./rowwindow";
import { type Visible, runOf } from "./visible";

const MOST_BOXES = 150;
const FEW_CALLS = 4;
const MOST_LEFT = 3;
const MOST_NAMES = 20;
const MOST_READERS = 24;

type Lane = GraphBox["lane"];
type Rows = RowCells & PictureCells;

interface Scene {
  pair: Pair;
  rows: Rows;
  visible: Visible;
  shown: number[];
  boxes: DiffRow[];
}

/** The graph of the module that a node is, or stands in; `opened` boxes show what is in them. */
export async function graphOf(pair: Pair, module: number, opened: readonly number[]): Promise<ModuleGraph> {
  const [cells, picture, rowOf] = await Promise.all([pair.rows(), pair.picture(), pair.rowOf()]);
  const rows = { ...cells, ...picture };
  const row = moduleRow(rows, rowOf.get(module) ?? 0);
  const around = [...above(rows, row), row];
  const few = fewCalls(rows, row);
  const keys = [...around.map((one) => at(rows.key, one)), ...opened, ...few.map((one) => at(rows.key, one))];
  const { visible } = await listed(pair, { open: keys.join("."), kept: [], way: null });
  const every = arrowsOf(rows, visible);
  const places = placesIn(rows, visible, row, new Set(few));
  const first = firstShown(visible, places, rowOf.get(module));
  const silent = new Set(places.slice(first, first + 2 * MOST_BOXES).filter((place) => visible.fold[place] === 0 && at(rows.isUnrecorded, at(visible.row, place)) === 1));
  const ends = new Set(every.flatMap(({ producer, consumer }) => [producer, consumer]));
  const loose = new Set([...silent].filter((place) => !ends.has(place) && at(rows.isReshaping, at(visible.row, place)) === 1));
  const isLone = (place: number): boolean => !ends.has(place) && at(rows.parent, at(visible.row, place)) === row && at(rows.isGradient, at(visible.row, place)) === 1;
  const lone = every.length > 0 ? places.filter(isLone) : [];
  const placed = places.filter((place) => !loose.has(place) && !lone.includes(place));
  const begin = first === 0 ? 0 : placed.filter((place) => place < at(places, first)).length;
  const shown = withHolders(rows, visible, placed, placed.slice(begin, begin + MOST_BOXES));
  const boxes = await Promise.all(shown.map((place) => rowAt(pair, rows, visible, place)));
  const scene: Scene = { pair, rows, visible, shown, boxes };
  const parents = parentsOf(scene);
  const lanes = lanesOf(scene, parents, placed.slice(0, begin));
  const kept = new Set(shown);
  const arrows = every.filter(({ producer, consumer }) => kept.has(producer) && kept.has(consumer));
  const fed = fedPlaces(rows, visible);
  const unsure = unsureRows(rows);
  // What stands nowhere may have handed on what looks as if nothing had put it out.
  const isUnsure = (place: number): boolean => loose.size > 0 || unsure.has(at(visible.row, place));
  const readers = around.length === 1 ? inputReaders(shown, parents, lanes, fed, isUnsure) : [];
  const outer = around.at(-2);
  const facts = (of: number): Promise<RowFacts> => pair.record<RowFacts>("fact", of);
  return {
    module: await rowAt(pair, rows, visible, at(visible.place, row)),
    above: outer === undefined ? null : at(rows.key, outer),
    boxes: await boxesOf(scene, parents, lanes, arrows, silent),
    edges: await Promise.all([...arrows, ...nextArrows(shown, parents, lanes, fed)].map((arrow) => edgeOf(scene, arrow))),
    left_out: placed.length - shown.length,
    unplaced: loose.size,
    gradients: lone.reduce((sum, place) => sum + Math.max(1, Math.abs(at(visible.fold, place))), 0),
    gradient_names: await Promise.all(lone.slice(0, MOST_NAMES).map(async (place) => (await facts(at(visible.row, place))).path)),
    inputs: (await Promise.all(readers.map((place) => inputsOf(scene, place)))).filter((read) => read.length > 0).slice(0, MOST_READERS).flat(),
  };
}

/** The row itself where something is in it, else that of what it stands in. */
function moduleRow(rows: Rows, row: number): number {
  const own = at(rows.isCollection, row) === 1 ? at(rows.parent, row) : row;
  return at(rows.children, own) > 0 || at(rows.parent, own) < 0 ? own : at(rows.parent, own);
}

/** The rows that stand for few calls between modules: those are drawn by themselves. */
function fewCalls({ parent, children, isCollection }: Rows, module: number): number[] {
  const few: number[] = [];
  parent.forEach((up, row) => {
    if (up === module && at(children, row) <= FEW_CALLS && isCollection[row] === 1) few.push(row);
  });
  return few;
}

function placesIn(rows: Rows, { row, fold }: Visible, module: number, spread: ReadonlySet<number>): number[] {
  const isIn = (one: number): boolean => one > module && one <= at(rows.last, module) && !spread.has(one);
  return [...row.keys()].filter((place) => isIn(at(row, place)) && at(fold, place) >= 0);
}

/** Which of a module's boxes is the first one shown, so that the node's own is among them. */
function firstShown(visible: Visible, places: readonly number[], row: number | undefined): number {
  const own = row === undefined ? -1 : at(visible.place, row);
  const index = places.filter((place) => place < own).length;
  return index < MOST_BOXES ? 0 : Math.max(0, Math.min(index - MOST_BOXES / 2, places.length - MOST_BOXES));
}

/** The boxes that are shown and, before them, the open ones that hold some of them. */
function withHolders(rows: Rows, visible: Visible, placed: readonly number[], shown: readonly number[]): number[] {
  const [held, known] = [new Set(shown), new Set(placed)];
  for (const place of shown) {
    for (let row = at(rows.parent, at(visible.row, place)); row >= 0; row = at(rows.parent, row)) {
      const holder = at(visible.place, row);
      if (!known.has(holder) || held.has(holder)) break;
      held.add(holder);
    }
  }
  return [...held].sort((one, other) => one - other);
}

function parentsOf({ rows, visible, shown }: Scene): (number | null)[] {
  const placeOf = new Map(shown.map((place) => [at(visible.row, place), place]));
  return shown.map((place) => placeOf.get(at(rows.parent, at(visible.row, place))) ?? null);
}

/** The pass of each box, by its own direction or that of the first in it; `earlier` ones ran before those shown. */
function lanesOf({ rows, visible, shown }: Scene, parents: readonly (number | null)[], earlier: readonly number[]): Lane[] {
  const runsBackward = (place: number): boolean => at(rows.isBackward, at(visible.row, place)) === 1;
  const isBackward = shown.map(runsBackward);
  const last = isBackward.reduce((found, flag, index) => (flag && parents[index] === null ? index : found), -1);
  const isBehind = last < 0 && earlier.some(runsBackward);
  const ofPlace = new Map<number, Lane>();
  return shown.map((place, index) => {
    const parent = parents[index] ?? null;
    const own: Lane = isBackward[index] ? "backward" : isBehind || (last >= 0 && index > last) ? "after" : "forward";
    const lane = parent === null ? own : (ofPlace.get(parent) ?? own);
    ofPlace.set(place, lane);
    return lane;
  });
}

async function boxesOf(scene: Scene, parents: readonly (number | null)[], lanes: readonly Lane[], arrows: readonly Arrow[], silent: ReadonlySet<number>): Promise<GraphBox[]> {
  const { pair, rows, shown, boxes } = scene;
  const seen = await pair.only<Record<string, GraphBox["output"]>>("seen");
  const passed = new Map(arrows.filter(({ value }) => value >= 0).map(({ producer, value }) => [producer, value]));
  const made = boxes.map(async (row, index): Promise<GraphBox> => {
    const place = shown[index] ?? 0;
    const [own, last] = await Promise.all([pair.record<RowFacts>("fact", row.at), pair.record<RowFacts>("fact", lastRow(rows, row))]);
    const { weights, repeats } = own;
    const output = seen[String(passed.get(place))] ?? last.output ?? null;
    return { place, parent: parents[index] ?? null, lane: lanes[index] ?? "forward", row, output, unrecorded: silent.has(place), weights, repeats };
  });
  return Promise.all(made);
}

async function edgeOf(scene: Scene, arrow: Arrow): Promise<GraphEdge> {
  const { producer, consumer, known } = arrow;
  return { producer, consumer, known, leaves: await leavesOf(scene, arrow) };
}

/** Of an edge from repeats that leaves others than the last alone, which ones. */
async function leavesOf({ pair, rows, visible }: Scene, arrow: Arrow): Promise<GraphEdge["leaves"]> {
  const count = at(visible.fold, arrow.producer);
  if (count <= 0 || arrow.first < 0) return null;
  const run = runOf(rows, at(visible.row, arrow.producer));
  const start = run.indexOf(at(visible.row, arrow.producer));
  const members = run.slice(start, start + count);
  const places = new Set(producersOf(arrow, rows, visible).map((row) => partOf(members, row)));
  if (places.size === 1 && places.has(count - 1)) return null;
  const left = [...places].sort((one, other) => one - other).map((place) => members.at(place) ?? 0);
  const facts = await Promise.all([...left.slice(0, MOST_LEFT), arrow.source, left.at(-1) ?? 0].map((row) => pair.record<RowFacts>("fact", row)));
  const [ofSource, ofLast] = facts.slice(-2);
  return { names: facts.slice(0, -2).map(({ path }) => path), count: left.length, output: ofSource?.output ?? ofLast?.output ?? null };
}

/** The tensors that a box reads and no recorded call puts out. */
async function inputsOf({ pair, visible }: Scene, reader: number): Promise<GraphInput[]> {
  const { unmade } = await pair.record<RowFacts>("fact", at(visible.row, reader));
  return unmade.map(({ path, tensor }) => ({ reader, value: `input.${path}`, tensor }));
}
