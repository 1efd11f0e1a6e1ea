/* The list on a canvas inside an element that scrolls. Knows nothing of React or the server. */

import type { DiffRow } from "../api/types";
import { paintDiff } from "./diffpaint";
import type { DiffScene } from "./scene";
import { type Columns, MAX_ROW, MIN_ROW, ROW, Scroll, TEXT_ROW, columnsOf, rowsIn } from "./grid";
import type { RowPages } from "./rowpages";

export type DiffLook = Pick<
  DiffScene,
  | "palette"
  | "texts"
  | "recolour"
  | "selected"
  | "hit"
  | "picked"
  | "mapping"
  | "mappable"
  | "microStep"
  | "comparison"
  | "lit"
> & { folded: boolean };

export interface DiffEvents {
  /** Rows in view, so that their pages can be loaded. */
  showing: (first: number, last: number) => void;
  /** After each painting: what is in view. */
  painted: (view: Window) => void;
}

/** What is in view, in rows; the last is exclusive. */
export interface Window {
  first: number;
  last: number;
  top: number;
  rowHeight: number;
  sticky: number;
  width: number;
}

export interface DiffHit {
  place: number;
  row: DiffRow;
  side: "problem" | "gutter" | "benchmark";
  /** The pointer is on the chevron, or on a row that is only there to be opened. */
  chevron: boolean;
}

/** A row, how far below the upper edge it stands, and where the content stood then. */
interface Kept {
  place: number;
  y: number | "middle";
  top: number;
}

const MOST_STICKY = 4;
/** Heads leave two thirds of a low view to the rows. */
const STICKY_SHARE = 1 / 3;
/** Heads over a row that is brought into view. */
const HEADS = 2;
const CHEVRON = 20;

export class DiffCanvas {
  rowHeight = ROW;
  private pages: RowPages;
  private look: DiffLook;
  private width = 0;
  private height = 0;
  private frame = 0;
  private hovered = -1;
  /** The row that a change of size keeps at its height, until the person scrolls. */
  private kept: Kept | null = null;
  private sticky: { place: number; row: DiffRow }[] = [];
  private readonly context: CanvasRenderingContext2D;

  constructor(
    readonly canvas: HTMLCanvasElement,
    private readonly scroller: HTMLElement,
    private readonly spacer: HTMLElement,
    pages: RowPages,
    look: DiffLook,
    private readonly events: DiffEvents,
  ) {
    const context = canvas.getContext("2d", { alpha: false });
    if (!context) throw new Error("this browser gives no 2D canvas; use a current Chromium or Firefox");
    this.context = context;
    this.pages = pages;
    this.look = look;
  }

  get columns(): Columns {
    return columnsOf(this.width, this.look);
  }

  /** Top of the content in view, in pixels. */
  get top(): number {
    return this.scroll.toContent(this.scroller.scrollTop);
  }

  setPages(pages: RowPages): void {
    if (pages !== this.pages) this.kept = null;
    this.pages = pages;
    this.stretch();
    this.invalidate();
  }

  setLook(look: DiffLook): void {
    this.look = look;
    this.invalidate();
  }

  resize(width: number, height: number): void {
    const { top } = this;
    const kept = this.keptRow();
    this.width = width;
    this.height = height;
    const ratio = window.devicePixelRatio || 1;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.stretch();
    if (kept) this.put(kept.place, kept.y);
    else this.setTop(top);
    this.paintNow();
  }

  /** Bring a row into view, in the middle or as near as it takes. */
  show(place: number, middle: boolean): void {
    this.put(place, middle ? "middle" : place * this.rowHeight - this.top);
  }

  setTop(top: number): void {
    this.scroller.scrollTop = this.scroll.fromContent(top);
    this.invalidate();
  }

  /** Higher or lower rows; the row at `y` stays there. */
  zoom(factor: number, y = this.height / 2): void {
    const place = (this.top + y) / this.rowHeight;
    const wanted = Math.min(MAX_ROW, Math.max(MIN_ROW, this.rowHeight * factor));
    this.rowHeight = Math.abs(wanted - ROW) < 0.6 ? ROW : wanted;
    this.kept = null;
    this.stretch();
    this.setTop(place * this.rowHeight - y);
  }

  hover(y: number | null): DiffRow | undefined {
    const place = y === null ? -1 : this.placeAt(y);
    if (place !== this.hovered) {
      this.hovered = place;
      this.invalidate();
    }
    return place < 0 ? undefined : this.pages.at(place);
  }

  hitAt(x: number, y: number): DiffHit | null {
    const place = this.placeAt(y);
    const row = this.rowAt(place);
    if (!row) return null;
    const { gutter, problem, benchmark, indent } = this.columns;
    const side = x < gutter.x || gutter.width === 0 ? "problem" : x < benchmark.x ? "gutter" : "benchmark";
    const column = side === "benchmark" ? benchmark : problem;
    const at = x - column.x - 8 - row.depth * indent;
    const can = row.children > 0 || row.fold !== 0;
    return { place, row, side, chevron: can && (row.fold !== 0 || (at >= 0 && at <= CHEVRON)) };
  }

  /** Where a row stands in the canvas. */
  rect(place: number): { y: number; height: number } {
    return { y: Math.round(place * this.rowHeight - this.top), height: this.rowHeight };
  }

  invalidate(): void {
    if (this.frame === 0) this.frame = requestAnimationFrame(() => this.paintNow());
  }

  dispose(): void {
    cancelAnimationFrame(this.frame);
  }

  private get scroll(): Scroll {
    return new Scroll(this.pages.total * this.rowHeight, this.height);
  }

  /** The row that a change of size keeps: the last one shown, else the selected one in view. */
  private keptRow(): Kept | null {
    const { top, kept, height, rowHeight } = this;
    if (kept?.top === top) return kept;
    const { selected } = this.look;
    const place = selected === null ? -1 : this.pages.find(selected);
    const y = place * rowHeight - top;
    return place >= 0 && y + rowHeight > 0 && y < height ? { place, y, top } : null;
  }

  /** Put a row at a height of the view, or as near as leaves it whole below the heads. */
  private put(place: number, y: number | "middle"): void {
    const { rowHeight, height } = this;
    const lowest = height - 2 * rowHeight;
    const highest = Math.min(HEADS * rowHeight, lowest);
    const wanted = y === "middle" ? (height - rowHeight) / 2 : Math.max(highest, Math.min(y, lowest));
    const exact = place * rowHeight - wanted;
    // In the middle or a little beside it: then no row is cut in half below the heads.
    this.setTop(y === "middle" ? Math.round(exact / rowHeight) * rowHeight : exact);
    this.kept = { place, y, top: this.top };
  }

  private stretch(): void {
    this.spacer.style.height = `${Math.max(0, this.scroll.height - this.height)}px`;
  }

  private placeAt(y: number): number {
    const stuck = this.sticky[Math.floor(y / this.rowHeight)];
    if (stuck) return stuck.place;
    const place = Math.floor((this.top + y) / this.rowHeight);
    return place < this.pages.total ? place : -1;
  }

  private rowAt(place: number): DiffRow | undefined {
    return this.pages.at(place) ?? this.sticky.find((one) => one.place === place)?.row;
  }

  private paintNow(): void {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    if (this.width === 0 || this.height === 0) return;
    const { top, rowHeight, height, width } = this;
    const [first, last] = rowsIn(top, height, rowHeight, this.pages.total);
    this.sticky = rowHeight >= TEXT_ROW ? this.heads(first) : [];
    const scene: DiffScene = {
      ...this.look,
      pages: this.pages,
      columns: this.columns,
      rowHeight,
      top,
      width,
      height,
      ratio: this.canvas.width / width,
      hovered: this.hovered,
      sticky: this.sticky,
    };
    paintDiff(this.context, scene, first, last);
    this.events.showing(first, last);
    this.events.painted({ first, last, top, rowHeight, sticky: this.sticky.length, width });
  }

  /** The heads above the first row that they do not cover; the root is known anyway. */
  private heads(first: number): { place: number; row: DiffRow }[] {
    const most = Math.min(MOST_STICKY, Math.floor((this.height * STICKY_SHARE) / this.rowHeight));
    if (most === 0) return [];
    let count = 0;
    for (let tries = 0; tries < most + 1; tries += 1) {
      const above = this.pages
        .above(first + count + (this.top > first * this.rowHeight ? 1 : 0))
        .filter(({ place, row }) => row.depth > 0 && place < first + count);
      const shown = above.slice(-most);
      if (shown.length <= count) return shown.slice(0, Math.max(shown.length, 0));
      count = shown.length;
    }
    return this.pages.above(first + count).filter(({ row }) => row.depth > 0).slice(-most);
  }
}
