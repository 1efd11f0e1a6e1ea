/* Which elements of a tensor a cell of its heat map stands for; the server cuts rows and columns alike. */

import type { Heat, Measure } from "../api/types";

export interface Cell {
  /** Places of its first and last element in the tensor's order. */
  first: number;
  last: number;
  worst: Measure;
}

/** The cell at shares of the width and the height; null outside. */
export function cellAt({ cells, rows, columns }: Heat, x: number, y: number): Cell | null {
  const wide = cells[0]?.length ?? 0;
  const [row, column] = [Math.floor(y * cells.length), Math.floor(x * wide)];
  const worst = cells[row]?.[column];
  if (worst === undefined) return null;
  const [top, bottom] = ends(row, cells.length, rows);
  const [left, right] = ends(column, wide, columns);
  return { first: top * columns + left, last: bottom * columns + right, worst };
}

/** The first and last of `all` lines that fall into one of `parts`. */
function ends(part: number, parts: number, all: number): [number, number] {
  return [Math.ceil((part * all) / parts), Math.ceil(((part + 1) * all) / parts) - 1];
}

/** The index of an element, as `1, 0, 5`. */
export function indexOf(place: number, shape: readonly number[]): string {
  const index: number[] = [];
  let rest = place;
  for (const size of [...shape].reverse()) {
    index.unshift(rest % size);
    rest = Math.floor(rest / size);
  }
  return index.join(", ");
}
