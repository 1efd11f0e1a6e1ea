/* A window of the rows of a pair, as `view/diff/window.py` and `view/diff/index.py` have it. */

import type { DiffRow, GraphInput, RailEdge, RowWindow } from "../api/types";
import { at, partOf } from "./blocks";
import { type Pair, type RowCells, above, numberAt } from "./pair";
import { railsOf, railsWithin } from "./rails";
import { type Visible, runOf, visibleRows } from "./visible";
import { offTheWay } from "./ways";

const MOST_EDGES = 400;
const MOST_LISTS = 8;
const MOST_BINS = 400;

export interface Wanted {
  open: string;
  /** Nodes that are kept out of folds. */
  kept: readonly number[];
  /** A cause and a target: only rows between them are listed. */
  way: readonly [number, number] | null;
}

export interface RowsWish extends Wanted {
  reveal: number | null;
  offset: number;
  limit: number;
}

interface Listed {
  visible: Visible;
  rails: RailEdge[];
  bins: number[];
}

const lists = new WeakMap<Pair, Map<string, Promise<Listed>>>();

/** The list of what is open, with its rails; the last ones are kept. */
export function listed(pair: Pair, wanted: Wanted): Promise<Listed> {
  const known = lists.get(pair) ?? new Map<string, Promise<Listed>>();
  lists.set(pair, known);
  const key = JSON.stringify([wanted.open, wanted.kept, wanted.way]);
  const made = known.get(key) ?? list(pair, wanted);
  known.set(key, made);
  const [oldest] = known.keys();
  if (known.size > MOST_LISTS && oldest !== undefined) known.delete(oldest);
  return made;
}

async function list(pair: Pair, { open, kept, way }: Wanted): Promise<Listed> {
  const [rows, depths, rowOf] = await Promise.all([pair.rows(), pair.depths(), pair.rowOf()]);
  const ends = way?.map((node) => rowOf.get(node));
  const [cause, target] = ends ?? [];
  const hidden = cause === undefined || target === undefined ? null : await offTheWay(pair, cause, target);
  const keptRows = kept.flatMap((node) => rowOf.get(node) ?? []);
  const visible = visibleRows(rows, depths, rowOf, { open, kept: keptRows, hidden });
  return { visible, rails: railsOf(rows, visible), bins: binsOf(visible, rows.key.length) };
}

/** How many rows of a list begin before each bin of the strip over all rows. */
function binsOf({ row }: Visible, count: number): number[] {
  const bins = Math.max(1, Math.min(MOST_BINS, count));
  return Array.from({ length: bins + 1 }, (_, bin) => partOf(row, Math.floor((bin * count) / bins) - 1) + 1);
}

/** The rows from an offset on; with `reveal` the page of as many rows that has that node. */
export async function windowOf(pair: Pair, wish: RowsWish, comparison: boolean): Promise<RowWindow> {
  const rows = await pair.rows();
  const { wanted, row } = await revealing(pair, rows, wish);
  const { visible, rails, bins } = await listed(pair, wanted);
  const found = row === null ? null : at(visible.place, row);
  const offset = found === null ? wish.offset : found - modulo(found, wish.limit);
  const stop = Math.min(visible.row.length, offset + wish.limit);
  const places = Array.from({ length: Math.max(0, stop - offset) }, (_, place) => offset + place);
  const first = places[0];
  const heads = first === undefined ? [] : above(rows, at(visible.row, first)).map((up) => at(visible.place, up));
  const told = (place: number) => (comparison ? toldRow(pair, rows, visible, place) : spokenRow(pair, rows, visible, place));
  return {
    total: visible.row.length,
    offset,
    rows: await Promise.all(places.map(told)),
    above: await Promise.all(heads.map(async (place) => ({ place, row: await headRow(pair, rows, visible, place, comparison) }))),
    rails: railsWithin(rails, offset, stop, MOST_EDGES),
    bins,
    found,
    opened: wanted.open,
  };
}

function modulo(number: number, by: number): number {
  return ((number % by) + by) % by;
}

/** The same list with all open that is above a node, and the node's row. */
async function revealing(pair: Pair, rows: RowCells, wish: RowsWish): Promise<{ wanted: Wanted; row: number | null }> {
  const row = wish.reveal === null ? undefined : (await pair.rowOf()).get(wish.reveal);
  if (wish.reveal === null || row === undefined) return { wanted: wish, row: null };
  const { visible } = await listed(pair, wish);
  const keys = above(rows, row).filter((up) => visible.isOpen[up] === 0).map((up) => String(at(rows.key, up)));
  const open = [...(wish.open === "" ? [] : [wish.open]), ...keys].join(".");
  const kept = wish.kept.includes(wish.reveal) ? wish.kept : [...wish.kept, wish.reveal];
  return { wanted: { open, kept, way: wish.way }, row };
}

/** The row at a place of a list. */
export async function rowAt(pair: Pair, rows: RowCells, visible: Visible, place: number): Promise<DiffRow> {
  const row = at(visible.row, place);
  const fold = at(visible.fold, place);
  const closed = await pair.closedRow(row);
  const shown = { ...closed, depth: at(visible.depth, place), fold };
  if (fold === 0) return { ...shown, open: closed.children > 0 && visible.isOpen[row] === 1 };
  const until = endOfFold(rows, row, fold);
  const end = await pair.closedRow(until);
  const ended = (side: "problem" | "benchmark"): DiffRow["problem"] => {
    const [own, last] = [closed[side], end[side]];
    return own && { ...own, until: until === row ? "" : (last?.title ?? "") };
  };
  return {
    ...shown,
    open: fold < 0,
    span: at(rows.last, until) - row + 1,
    worst_below: worstOf(rows, row, until),
    problem: ended("problem"),
    benchmark: ended("benchmark"),
  };
}

function endOfFold(rows: RowCells, row: number, fold: number): number {
  return at(rows.runMember, rows.runMember.indexOf(row) + Math.abs(fold) - 1);
}

/** The node of a row; of one that stands for repeats the last of them, whose output goes on. */
export function lastRow(rows: RowCells, { at: row, fold }: Pick<DiffRow, "at" | "fold">): number {
  if (fold === 0) return row;
  const run = runOf(rows, row);
  return run[run.indexOf(row) + Math.abs(fold) - 1] ?? row;
}

/** The worst of repeats and of all below them. */
function worstOf(rows: RowCells, row: number, until: number): number | null {
  let worst: number | null = null;
  for (let one = row; one <= until; one++) {
    for (const cell of [numberAt(rows.score, one), numberAt(rows.worstBelow, one)]) {
      if (cell !== null && (worst === null || cell > worst)) worst = cell;
    }
  }
  return worst;
}

function headRow(pair: Pair, rows: RowCells, visible: Visible, place: number, comparison: boolean): Promise<DiffRow> {
  return comparison ? toldRow(pair, rows, visible, place) : rowAt(pair, rows, visible, place);
}

/** A row with the score of what a call hands on that one run alone makes. */
async function toldRow(pair: Pair, rows: RowCells, visible: Visible, place: number): Promise<DiffRow> {
  const row = await rowAt(pair, rows, visible, place);
  const handed = numberAt(rows.handedOn, row.at);
  return handed === null || row.score !== null ? row : { ...row, score: handed };
}

/** A row of a single graph with what it puts out. */
async function spokenRow(pair: Pair, rows: RowCells, visible: Visible, place: number): Promise<DiffRow> {
  const row = await rowAt(pair, rows, visible, place);
  if (row.problem === null) return row;
  const { output } = await pair.record<RowFacts>("fact", lastRow(rows, row));
  return { ...row, problem: { ...row.problem, output } };
}

/** Of one row what a picture says of its box. */
export interface RowFacts {
  output: NonNullable<DiffRow["problem"]>["output"];
  weights: number[][];
  repeats: { count: number; type_name: string } | null;
  path: string;
  unmade: { path: string; tensor: GraphInput["tensor"] }[];
}

