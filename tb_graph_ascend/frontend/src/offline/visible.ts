/* The rows that can be seen while some are open, as `view/diff/visible.py` has them. */

import { type Cells, NOTHING, at } from "./blocks";
import type { RowCells } from "./pair";

/** What stands in the list: merged row, 0 or how many repeats (negative: their head), indent. */
export interface Visible {
  row: Int32Array;
  fold: Int32Array;
  depth: Int32Array;
  /** By merged row where it stands, or what it is folded or closed into. */
  place: Int32Array;
  isOpen: Uint8Array;
}

export interface Shown {
  open: string;
  /** Rows that are kept out of folds. */
  kept: readonly number[];
  /** Rows to leave out, by a flag each. */
  hidden: Uint8Array | null;
}

type Tree = Pick<RowCells, "last" | "children" | "runMember" | "runFirst">;

/** The list as it looks with the given openness; the first row is always open. */
export function visibleRows(rows: Tree, depths: Int32Array, rowOf: ReadonlyMap<number, number>, shown: Shown): Visible {
  const count = rows.last.length;
  const { isOpen, unfolded } = opened(rows, rowOf, shown.open);
  const hidden = closedIn(rows, isOpen);
  shown.hidden?.forEach((flag, row) => { if (flag) hidden[row] = 1; });
  const fold = foldRepeats(rows, isOpen, new Set(shown.kept), unfolded, hidden);
  const heads = headsOf(rows, unfolded, hidden);
  const indents = indentsOf(rows, unfolded);
  const [row, folds, depth]: [number[], number[], number[]] = [[], [], []];
  const put = (at_: number, folded: number): void => {
    row.push(at_);
    folds.push(folded);
    depth.push(at(depths, at_) + at(indents, at_) - (folded < 0 ? 1 : 0));
  };
  const place = new Int32Array(count).fill(NOTHING);
  let last = NOTHING;
  for (let at_ = 0; at_ < count; at_++) {
    if (hidden[at_] === 0) {
      const size = heads.get(at_);
      if (size !== undefined) put(at_, -size);
      put(at_, fold.get(at_) ?? 0);
      last = row.length - 1;
    }
    place[at_] = Math.max(last, 0);
  }
  if (row.length === 0) place.fill(NOTHING);
  shown.hidden?.forEach((flag, at_) => { if (flag) place[at_] = NOTHING; });
  return { row: Int32Array.from(row), fold: Int32Array.from(folds), depth: Int32Array.from(depth), place, isOpen };
}

function opened(rows: Tree, rowOf: ReadonlyMap<number, number>, text: string) {
  const isOpen = new Uint8Array(rows.last.length);
  const unfolded = new Uint8Array(rows.last.length);
  if (isOpen.length > 0) isOpen[0] = 1;
  for (const token of text === "" ? [] : text.split(".")) {
    const row = rowOf.get(Number(token.replace(/[^0-9]/g, "")));
    if (row === undefined) continue;
    if (token.startsWith("f")) unfolded[row] = 1;
    else if (token.endsWith("a")) isOpen.fill(1, row, at(rows.last, row) + 1);
    else isOpen[row] = token.startsWith("-") ? 0 : 1;
  }
  return { isOpen, unfolded };
}

function closedIn({ last, children }: Tree, isOpen: Uint8Array): Uint8Array {
  const hidden = new Uint8Array(last.length);
  for (let row = 0; row < last.length; row++) {
    if (at(children, row) === 0 || isOpen[row] !== 0) continue;
    hidden.fill(1, row + 1, at(last, row) + 1);
    row = at(last, row); // all below is hidden already
  }
  return hidden;
}

/** Neighbours that become one row: how many by the first of them; the others are hidden. */
function foldRepeats({ runMember, runFirst }: Tree, isOpen: Uint8Array, kept: ReadonlySet<number>, unfolded: Uint8Array, hidden: Uint8Array): Map<number, number> {
  const folds = new Map<number, number>();
  const others: number[] = [];
  let first = NOTHING;
  let before = NOTHING;
  runMember.forEach((row, place) => {
    const run = at(runFirst, place);
    const joins = isOpen[row] === 0 && !kept.has(row) && unfolded[run] === 0 && hidden[row] === 0;
    if (joins && first !== NOTHING && run === before) {
      folds.set(first, (folds.get(first) ?? 1) + 1);
      others.push(row);
    } else {
      first = joins ? row : NOTHING;
    }
    before = run;
  });
  for (const row of others) hidden[row] = 1;
  return folds;
}

/** The first rows of unfolded runs that can be seen, and how many each has. */
function headsOf({ runFirst }: Tree, unfolded: Uint8Array, hidden: Uint8Array): Map<number, number> {
  const heads = new Map<number, number>();
  runFirst.forEach((row) => {
    if (unfolded[row] !== 0 && hidden[row] === 0) heads.set(row, (heads.get(row) ?? 0) + 1);
  });
  return heads;
}

/** How far rows are set in by the heads of unfolded runs above them. */
function indentsOf({ runMember, runFirst, last }: Tree, unfolded: Uint8Array): Int32Array {
  const steps = new Int32Array(last.length + 1);
  runMember.forEach((row, place) => {
    if (unfolded[at(runFirst, place)] === 0) return;
    steps[row] = at(steps, row) + 1;
    steps[at(last, row) + 1] = at(steps, at(last, row) + 1) - 1;
  });
  for (let row = 1; row < steps.length; row++) steps[row] = at(steps, row) + at(steps, row - 1);
  return steps;
}

/** All rows of the run that a row stands in, in order; the row alone where it repeats nothing. */
export function runOf({ runMember, runFirst }: Tree, row: number): number[] {
  const place = runMember.indexOf(row);
  if (place < 0) return [row];
  const first = at(runFirst, place);
  return membersOf(runMember, runFirst, first);
}

function membersOf(member: Cells, first: Cells, wanted: number): number[] {
  const found: number[] = [];
  first.forEach((run, place) => { if (run === wanted) found.push(at(member, place)); });
  return found;
}
