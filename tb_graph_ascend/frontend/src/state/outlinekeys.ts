/* Keys of a tree as ARIA's authoring practices have them, for the outline and for the canvas. */

import type { Node } from "../api/types";
import type { OutlineRows } from "../graph/rows";
import type { GraphTree } from "../graph/tree";

export interface Move {
  toggle?: boolean;
  node?: Node | undefined;
}

/** Rows that PageUp and PageDown jump. */
const PAGE_ROWS = 12;

/** What a key does at a node; null when the key is none of the tree's. */
export function outlineMove(key: string, node: Node, tree: GraphTree, rows: OutlineRows): Move | null {
  const row = rows.indexOf(node.parent, node.position);
  const step = STEPS[key];
  if (step !== undefined) return { node: nodeAt(rows, tree, clamp(row + step, rows.count)) };
  if (key === "Home") return { node: tree.root };
  if (key === "End") return { node: nodeAt(rows, tree, rows.count - 1) };
  if (key === "Enter" || key === " ") return node.children > 0 ? { toggle: true } : {};
  if (key === "ArrowRight") return right(node, tree);
  if (key === "ArrowLeft") return left(node, tree);
  return null;
}

const STEPS: Partial<Record<string, number>> = {
  ArrowDown: 1,
  ArrowUp: -1,
  PageDown: PAGE_ROWS,
  PageUp: -PAGE_ROWS,
};

function right(node: Node, tree: GraphTree): Move {
  if (node.children === 0) return {};
  return tree.isOpen(node.id) ? { node: tree.childAt(node.id, 0) } : { toggle: true };
}

function left(node: Node, tree: GraphTree): Move {
  if (node.children > 0 && node.parent !== null && tree.isOpen(node.id)) return { toggle: true };
  return node.parent === null ? {} : { node: tree.get(node.parent) };
}

function nodeAt(rows: OutlineRows, tree: GraphTree, row: number): Node | undefined {
  const place = rows.at(row);
  if (!place) return undefined;
  return place.parent === null ? tree.root : tree.childAt(place.parent, place.position);
}

function clamp(row: number, count: number): number {
  return Math.min(count - 1, Math.max(0, row));
}
