/* Keys of a tree as ARIA's authoring practices have them, for the outline and for the canvas. */

import type { Node } from "../api/types";
import type { OutlineRows } from "../outline/rows";
import type { GraphTree } from "../outline/tree";

/** Open or close the node, or go to the child at a position of a parent (null: to the root). */
export type Move = { toggle: true } | { parent: Node | null; position: number } | { stay: true };

const TO_ROOT: Move = { parent: null, position: 0 };
const STAY: Move = { stay: true };

/** Rows that PageUp and PageDown jump. */
const PAGE_ROWS = 12;

/** What a key does at a node; null when the key is none of the tree's. */
export function outlineMove(key: string, node: Node, tree: GraphTree, rows: OutlineRows): Move | null {
  const row = rows.indexOf(node.parent, node.position);
  const step = STEPS[key];
  if (step !== undefined) return toRow(rows, tree, clamp(row + step, rows.count));
  if (key === "Home") return TO_ROOT;
  if (key === "End") return toRow(rows, tree, rows.count - 1);
  if (key === "Enter" || key === " ") return node.children > 0 ? { toggle: true } : STAY;
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
  if (node.children === 0) return STAY;
  return tree.isOpen(node.id) ? { parent: node, position: 0 } : { toggle: true };
}

function left(node: Node, tree: GraphTree): Move {
  if (node.children > 0 && node.parent !== null && tree.isOpen(node.id)) return { toggle: true };
  const above = node.parent === null ? undefined : tree.get(node.parent);
  if (!above) return STAY;
  const parent = above.parent === null ? null : (tree.get(above.parent) ?? null);
  return { parent, position: above.position };
}

function toRow(rows: OutlineRows, tree: GraphTree, row: number): Move {
  const place = rows.at(row);
  if (!place) return STAY;
  if (place.parent === null) return TO_ROOT;
  return { parent: tree.get(place.parent) ?? null, position: place.position };
}

function clamp(row: number, count: number): number {
  return Math.min(count - 1, Math.max(0, row));
}
