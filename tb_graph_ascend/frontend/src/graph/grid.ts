/* The row grid: where columns and rows stand. Both sides share it, so they are always aligned. */

export interface Column {
  x: number;
  width: number;
}

export interface Columns {
  rails: Column;
  problem: Column;
  gutter: Column;
  benchmark: Column;
  /** Places inside the gutter. */
  input: Column;
  output: Column;
  worst: Column;
  word: Column;
  /** How far a row is set in below the one it is in. */
  indent: number;
}

export interface Shape {
  /** A comparison has two sides and a gutter between them. */
  comparison: boolean;
  /** The benchmark's side is folded to the gutter. */
  folded: boolean;
}

export const ROW = 24;
export const MIN_ROW = 3;
export const MAX_ROW = 40;
/** Below this height rows bear no text. */
export const TEXT_ROW = 13;
const INDENT = 14;
const LANE = 7;
const LANES = 8;
const RAILS = 26 + LANE * LANES;
const NARROW = 760;
/** At 200 % zoom, with the lists beside it: names need all there is. */
const TIGHT = 520;

/** The columns at a width. */
export function columnsOf(width: number, { comparison, folded }: Shape): Columns {
  const narrow = width < NARROW;
  const tight = width < TIGHT;
  const rails = { x: 0, width: RAILS - LANE * (tight ? 5 : narrow ? 3 : 0) };
  const numbers = tight ? 30 : narrow ? 34 : 42;
  const words = tight ? 90 : narrow ? 108 : 132;
  const gutterWidth = comparison ? 3 * numbers + words + 16 : 0;
  const rest = Math.max(0, width - rails.width - gutterWidth);
  const half = comparison && !folded ? Math.floor(rest / 2) : rest;
  const problem = { x: rails.width, width: half };
  const gutter = { x: problem.x + half, width: gutterWidth };
  const input = { x: gutter.x + 8, width: numbers };
  const output = { x: input.x + numbers, width: numbers };
  const worst = { x: output.x + numbers, width: numbers };
  return {
    rails,
    problem,
    gutter,
    benchmark: { x: gutter.x + gutterWidth, width: comparison && !folded ? rest - half : 0 },
    input,
    output,
    worst,
    word: { x: worst.x + numbers + 8, width: words - 8 },
    indent: tight ? 4 : INDENT,
  };
}

/** The size of a text as a share of its row, in whole pixels up to the largest: while one zooms, each
 * new size has all widths to be measured and all letters to be drawn anew. */
export function textSize(rowHeight: number, share: number, largest: number): number {
  const size = rowHeight * share;
  return size < largest ? Math.floor(size) : largest;
}

/** Where the dots of rows stand, and the rails of a lane beside them. */
export function laneX({ rails }: Columns, lane: number): number {
  const shown = Math.floor((rails.width - 26) / LANE);
  return rails.x + rails.width - 12 - LANE * Math.min(lane, shown);
}

/** Where a row stands in the view, on whole pixels. */
export function yOf({ rowHeight, top }: { rowHeight: number; top: number }, place: number): number {
  return Math.round(place * rowHeight - top);
}

/** First and last row that a window shows, the last exclusive. */
export function rowsIn(top: number, height: number, rowHeight: number, total: number): [number, number] {
  const first = Math.max(0, Math.floor(top / rowHeight));
  return [Math.min(first, total), Math.min(total, Math.ceil((top + height) / rowHeight))];
}

/** Browsers end scrolling at some height; longer lists scroll by shares of theirs. */
const TALLEST = 12_000_000;

export class Scroll {
  constructor(
    readonly content: number,
    readonly view: number,
  ) {}

  /** Height of what the browser scrolls. */
  get height(): number {
    return Math.min(TALLEST, Math.max(this.content, this.view));
  }

  /** The top of the content in view for what the browser says, and back. */
  toContent(scrollTop: number): number {
    return scrollTop * this.ratio;
  }

  fromContent(top: number): number {
    const most = Math.max(0, this.content - this.view);
    return this.ratio === 0 ? 0 : Math.min(most, Math.max(0, top)) / this.ratio;
  }

  private get ratio(): number {
    const room = this.height - this.view;
    return room <= 0 ? 0 : Math.max(0, this.content - this.view) / room;
  }
}
