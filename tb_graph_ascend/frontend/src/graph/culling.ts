/* What of a layout lies inside a rectangle: open boxes, and per run the range of visible cells.
 * Cells outside are never looked at, so a module with 20,000 children costs what is on screen. */

import { CELL, type Layout, type OpenBox, type Rect, type Run } from "./layout";

export interface VisibleRun {
  run: Run;
  /** Rows and columns inside the rectangle, ends exclusive. */
  rows: [number, number];
  columns: [number, number];
}

export interface Visible {
  boxes: OpenBox[];
  runs: VisibleRun[];
}

/** Boxes (parents first) and cell ranges that touch a rectangle in world units. */
export function visibleIn(layout: Layout, view: Rect): Visible {
  const found: Visible = { boxes: [], runs: [] };
  collect(layout.root, view, found);
  return found;
}

/** Positions of children that a visible run shows, from first to last (inclusive). */
export function positionsOf({ run, rows }: VisibleRun): [number, number] {
  const first = run.first + rows[0] * run.columns;
  const last = Math.min(run.first + run.count, run.first + rows[1] * run.columns) - 1;
  return [first, last];
}

export function intersects(a: Rect, b: Rect): boolean {
  return (
    a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height
  );
}

function collect(box: OpenBox, view: Rect, found: Visible): void {
  if (!intersects(box, view)) return;
  found.boxes.push(box);
  for (let index = firstBelow(box, view.y); index < box.items.length; index += 1) {
    const item = box.items[index];
    if (!item || item.y > view.y + view.height) return;
    if (item.kind === "box") collect(item, view, found);
    else if (intersects(item, view)) found.runs.push(clip(item, view));
  }
}

/** Binary search: the first item that ends below the upper edge. */
function firstBelow(box: OpenBox, top: number): number {
  let low = 0;
  let high = box.items.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const item = box.items[middle];
    if (item && item.y + item.height < top) low = middle + 1;
    else high = middle;
  }
  return low;
}

function clip(run: Run, view: Rect): VisibleRun {
  const rowHeight = CELL.height + CELL.gap;
  const columnWidth = CELL.width + CELL.gap;
  const rows = Math.ceil(run.count / run.columns);
  return {
    run,
    rows: range(view.y - run.y, view.height, rowHeight, rows),
    columns: range(view.x - run.x, view.width, columnWidth, run.columns),
  };
}

function range(offset: number, length: number, pitch: number, count: number): [number, number] {
  const first = Math.max(0, Math.floor(offset / pitch));
  const last = Math.min(count, Math.ceil((offset + length) / pitch));
  return [Math.min(first, count), Math.max(first, last)];
}
