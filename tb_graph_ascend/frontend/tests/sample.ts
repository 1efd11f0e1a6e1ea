/* Nodes for tests. */

import type { Node } from "../src/api/types";

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
