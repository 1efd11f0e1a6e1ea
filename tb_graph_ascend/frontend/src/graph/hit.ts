/* Which box lies under a point of the world. */

import { CELL, HEADER, cellOf, type Layout, type OpenBox, type Run } from "./layout";

export interface Hit {
  /** Parent's id and position of the child; the root has parent null. */
  parent: number | null;
  position: number;
  /** Set for open modules: the point lies in the header strip. */
  header: boolean;
  box: OpenBox | null;
}

/** The innermost box or cell at (x, y); null on the empty canvas. */
export function hitTest(layout: Layout, x: number, y: number): Hit | null {
  if (!contains(layout.root, x, y)) return null;
  let box = layout.root;
  for (;;) {
    const item = box.items.find((candidate) => contains(candidate, x, y));
    if (item?.kind !== "box") {
      return (item && cellHit(item, x, y)) ?? boxHit(box, y);
    }
    box = item;
  }
}

function boxHit(box: OpenBox, y: number): Hit {
  const { parent, position } = box.node;
  return { parent, position, header: y < box.y + HEADER, box };
}

function cellHit(run: Run, x: number, y: number): Hit | null {
  const column = Math.floor((x - run.x) / (CELL.width + CELL.gap));
  const row = Math.floor((y - run.y) / (CELL.height + CELL.gap));
  const position = run.first + row * run.columns + column;
  if (position >= run.first + run.count) return null;
  if (!contains(cellOf(run, position), x, y)) return null;
  return { parent: run.parent, position, header: false, box: null };
}

function contains(
  rect: { x: number; y: number; width: number; height: number },
  x: number,
  y: number,
): boolean {
  return x >= rect.x && x < rect.x + rect.width && y >= rect.y && y < rect.y + rect.height;
}
