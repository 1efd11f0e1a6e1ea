/* What keys do in the rows: up and down select, left and right close and open, Home and End go. */

import type { DiffRow } from "../api/types";
import { selectNode } from "./actions";
import { nodeAhead } from "./ahead";
import type { DiffView } from "./diffview";

/** Do what a key asks; false when it asks nothing here. */
export function moveInRows(key: string, diff: DiffView): boolean {
  const { pages } = diff;
  const place = currentPlace(diff);
  const row = pages.at(place);
  const page = Math.max(1, Math.floor(diff.pane?.visibleRows() ?? 1) - 2);
  switch (key) {
    case "ArrowDown":
      return go(diff, place + 1, 1);
    case "ArrowUp":
      return go(diff, place - 1, -1);
    case "PageDown":
      return go(diff, place + page, 1);
    case "PageUp":
      return go(diff, place - page, -1);
    case "Home":
      return go(diff, 0, 1);
    case "End":
      return go(diff, pages.total - 1, -1);
    case "Enter":
    case " ":
      if (row) diff.toggle(row);
      return row !== undefined;
    case "ArrowRight":
      if (row && !row.open && canOpen(row)) diff.toggle(row);
      else return go(diff, place + 1, 1);
      return true;
    case "ArrowLeft":
      if (row?.open && place > 0) diff.toggle(row);
      else return go(diff, parentOf(diff, place), -1);
      return true;
    default:
      return false;
  }
}

function canOpen(row: DiffRow): boolean {
  return row.children > 0 || row.fold !== 0;
}

/** Where the keys are: a fold that was reached by them, or the row that is selected, or will be. */
function currentPlace(diff: DiffView): number {
  const node = nodeAhead();
  if (diff.cursor !== null) return diff.cursor;
  return node === null ? -1 : diff.pages.find(node);
}

function go(diff: DiffView, wanted: number, direction: 1 | -1): boolean {
  const { total } = diff.pages;
  const place = Math.min(total - 1, Math.max(0, wanted));
  if (total === 0) return false;
  diff.want(place, place);
  diff.pane?.show(place);
  const row = diff.pages.at(place);
  if (!row) {
    // Keys pressed before the row is there go on from it.
    diff.setCursor(place);
    void diff.loaded(place).then(() => diff.cursor === place && diff.pages.at(place) && go(diff, place, direction));
    return true;
  }
  diff.setCursor(row.fold === 0 ? null : place);
  const node = row.problem ?? row.benchmark;
  if (row.fold === 0 && node) void selectNode(node.id, { keepView: true });
  return true;
}

function parentOf(diff: DiffView, place: number): number {
  const above = diff.pages.above(place);
  return above[above.length - 1]?.place ?? 0;
}
