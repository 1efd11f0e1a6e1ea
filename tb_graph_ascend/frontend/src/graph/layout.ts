/* Nested boxes of what is open, in execution order: open modules are boxes one below the other,
 * closed nodes between them are grids of equal cells. Costs grow with open modules, not children. */

import type { Node } from "../api/types";
import type { GraphTree } from "./tree";

/** World units; one unit is one CSS pixel at scale 1. */
export const CELL = { width: 252, height: 30, gap: 6 } as const;
export const HEADER = 32;
export const PADDING = 10;

export interface Rect {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** Consecutive closed children, row by row. */
export interface Run extends Rect {
  kind: "run";
  parent: number;
  first: number;
  count: number;
  columns: number;
}

/** An open module. */
export interface OpenBox extends Rect {
  kind: "box";
  node: Node;
  items: Item[];
}

export type Item = Run | OpenBox;

export interface Layout {
  root: OpenBox;
  boxes: Map<number, OpenBox>;
}

/** Place everything that is open; the root's top left corner is (0, 0). */
export function layoutTree(tree: GraphTree): Layout {
  const boxes = new Map<number, OpenBox>();
  const root = build(tree, tree.root, boxes);
  arrange(root, 0, 0);
  return { root, boxes };
}

/** Where a node stands; undefined while an ancestor is closed. */
export function rectOf(layout: Layout, node: Node): Rect | undefined {
  const own = layout.boxes.get(node.id);
  if (own) return own;
  const parent = node.parent === null ? undefined : layout.boxes.get(node.parent);
  const run = parent?.items.find(
    (item) =>
      item.kind === "run" && item.first <= node.position && node.position < item.first + item.count,
  );
  return run?.kind === "run" ? cellOf(run, node.position) : undefined;
}

/** The cell of one child inside a run. */
export function cellOf(run: Run, position: number): Rect {
  const index = position - run.first;
  const column = index % run.columns;
  const row = Math.floor(index / run.columns);
  return {
    x: run.x + column * (CELL.width + CELL.gap),
    y: run.y + row * (CELL.height + CELL.gap),
    width: CELL.width,
    height: CELL.height,
  };
}

/** Columns that keep a module of this many closed children near the shape of a screen. */
export function columnsFor(count: number): number {
  if (count <= 14) return 1;
  if (count <= 36) return 2;
  return Math.ceil(Math.sqrt(count * 0.19));
}

function build(tree: GraphTree, node: Node, boxes: Map<number, OpenBox>): OpenBox {
  const box: OpenBox = { kind: "box", node, items: [], x: 0, y: 0, width: 0, height: 0 };
  boxes.set(node.id, box);
  let next = 0;
  for (const child of tree.openChildren(node.id)) {
    pushRun(box, next, child.position - next);
    box.items.push(build(tree, child, boxes));
    next = child.position + 1;
  }
  pushRun(box, next, node.children - next);
  box.width = contentWidth(box) + 2 * PADDING;
  return box;
}

function pushRun(box: OpenBox, first: number, count: number): void {
  if (count <= 0) return;
  const place = { x: 0, y: 0, width: 0, height: 0 };
  box.items.push({ kind: "run", parent: box.node.id, first, count, columns: 1, ...place });
}

function contentWidth(box: OpenBox): number {
  const closed = box.items.reduce((sum, item) => sum + (item.kind === "run" ? item.count : 0), 0);
  const columns = columnsFor(closed);
  const widest = Math.max(0, ...box.items.map((item) => (item.kind === "box" ? item.width : 0)));
  return Math.max(widest, columns * (CELL.width + CELL.gap) - CELL.gap);
}

function arrange(box: OpenBox, x: number, y: number): void {
  box.x = x;
  box.y = y;
  let top = y + HEADER + PADDING;
  for (const item of box.items) {
    if (item.kind === "box") {
      arrange(item, x + PADDING, top);
    } else {
      arrangeRun(item, x + PADDING, top, box.width - 2 * PADDING);
    }
    top += item.height + CELL.gap;
  }
  box.height = top - CELL.gap + PADDING - y;
}

function arrangeRun(run: Run, x: number, y: number, available: number): void {
  const fitting = Math.floor((available + CELL.gap) / (CELL.width + CELL.gap));
  run.columns = Math.max(1, Math.min(run.count, fitting));
  const rows = Math.ceil(run.count / run.columns);
  run.x = x;
  run.y = y;
  run.width = run.columns * (CELL.width + CELL.gap) - CELL.gap;
  run.height = rows * (CELL.height + CELL.gap) - CELL.gap;
}
