/* Which nodes of a tree are open, by position and by name: for another step or rank, whose node ids
 * differ. */

import type { GraphTree } from "../outline/tree";

export interface OpenShape {
  position: number;
  /** The same name wins over the same position. */
  name: string;
  below: OpenShape[];
}

/** What is open below the root (or another open node). */
export function shapeOf(tree: GraphTree, parent = tree.root.id): OpenShape[] {
  return tree.openChildren(parent).map((node) => ({
    position: node.position,
    name: node.name,
    below: shapeOf(tree, node.id),
  }));
}

/** Open the same nodes in another tree, loading the pages that hold them. */
export async function reopen(
  tree: GraphTree,
  load: (parent: number, position: number) => Promise<void>,
  shapes: readonly OpenShape[],
  parent = tree.root.id,
): Promise<void> {
  const total = tree.get(parent)?.children ?? 0;
  await Promise.all(
    shapes.map(async ({ position, name, below }) => {
      if (total === 0) return;
      await load(parent, Math.min(position, total - 1));
      const node = findChild(tree, parent, position, name);
      if (!node) return;
      tree.open(node.id);
      await reopen(tree, load, below, node.id);
    }),
  );
}

/** Siblings looked at on either side, where a call was inserted or left out. */
const SHIFT = 60;

function findChild(tree: GraphTree, parent: number, position: number, name: string) {
  for (let shift = 0; shift <= SHIFT; shift += 1) {
    for (const place of [position - shift, position + shift]) {
      const node = tree.childAt(parent, place);
      if (node?.name === name) return node;
    }
  }
  return undefined;
}
