/* Nodes for tests: a graph from nested names. */

import type { Node, Side } from "../src/api/types";
import { GraphTree } from "../src/outline/tree";

/** A node with everything that a test does not care about. */
export function node(part: Partial<Node> & { id: number }): Node {
  return {
    graph: 1,
    side: "problem",
    parent: null,
    position: 0,
    order: part.id,
    depth: 0,
    children: 0,
    name: `Module.n${part.id}.Cls.forward.0`,
    label: `n${part.id}`,
    kind: "module",
    direction: "forward",
    recomputed: false,
    micro_step: 0,
    match: null,
    match_reason: null,
    score: null,
    input_score: null,
    introduced: null,
    verdict: null,
    overflow: null,
    worst_below: null,
    divergent_below: 0,
    source: null,
    reasons: [],
    ...part,
  };
}

/** A root (id 1) with `count` children, ids 2 … count + 1. */
export function flatTree(count: number, side: Side = "problem"): GraphTree {
  const tree = new GraphTree(node({ id: 1, side, kind: "root", children: count }));
  const children = Array.from({ length: count }, (_, position) =>
    node({ id: position + 2, side, parent: 1, position, depth: 1 }),
  );
  tree.insert(children);
  return tree;
}

/** Give a loaded node children with the ids first, first + 1, … */
export function addChildren(tree: GraphTree, parent: number, count: number, first: number): void {
  const above = tree.get(parent);
  if (!above) throw new Error(`no node ${parent}`);
  tree.insert([{ ...above, children: count }]);
  tree.insert(
    Array.from({ length: count }, (_, position) =>
      node({ id: first + position, parent, position, depth: above.depth + 1 }),
    ),
  );
}
