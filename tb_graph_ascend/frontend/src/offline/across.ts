/* One node in all steps and ranks, by the names of what stands above it: as `builder/results/across.py` has it. */

import type { Across } from "../api/types";
import { at } from "./blocks";
import { factsOf } from "./nodeanswers";
import type { NodeCells, Pair } from "./pair";

const COLLECTION = 3;

interface Tree {
  nodes: NodeCells;
  names: string[];
  /** The places of the nodes below each, in their order; the roots are below -1. */
  below: Map<number, number[]>;
}

/** The node at a place of a step and rank, everywhere; `places` are all steps and ranks in their order. */
export async function acrossOf(pairs: readonly Pair[], places: readonly (readonly [number, number])[], pair: Pair, place: number): Promise<Across> {
  const [here, own] = [await treeOf(pair), await pair.node(place)];
  const path: number[] = [];
  for (let up = place; up >= 0; up = at(here.nodes.parent, up)) path.unshift(up);
  const cells = places.map(async ([step, rank]) => {
    const there = pairs.find((one) => one.step === step && one.rank === rank);
    const found = there && foundIn(await treeOf(there), here, path);
    if (!there || found === undefined) return { step, rank, node: null, score: null, input_score: null, verdict: null, overflow: null, handed_on: null };
    const [{ id, score, input_score, verdict, overflow }, facts] = await Promise.all([there.node(found), factsOf(there, found)]);
    return { step, rank, node: id, score, input_score, verdict, overflow, handed_on: facts.handed_on?.score ?? null };
  });
  return { name: own.name, side: own.side, cells: await Promise.all(cells) };
}

/** The place of what stands there as a path of places does here; the last of several. */
function foundIn(there: Tree, here: Tree, path: readonly number[]): number | undefined {
  const [root = 0, ...further] = path;
  let reached = (there.below.get(-1) ?? []).filter((one) => there.nodes.problem[one] === here.nodes.problem[root]);
  for (const wanted of further) {
    const position = positionOf(here, wanted);
    const same = reached.flatMap((up) => (there.below.get(up) ?? []).map((one, at_) => ({ one, at_ }))).filter(({ one }) => isAlike(there, one, here, wanted));
    const placed = same.filter(({ at_ }) => at_ === position);
    reached = (placed.length > 0 ? placed : same).map(({ one }) => one);
  }
  return reached.at(-1);
}

/** Collections are a view and numbered anew in each graph, so any of them will do. */
function isAlike(there: Tree, one: number, here: Tree, wanted: number): boolean {
  if (at(here.nodes.kind, wanted) === COLLECTION) return at(there.nodes.kind, one) === COLLECTION;
  return there.names[at(there.nodes.name, one)] === here.names[at(here.nodes.name, wanted)];
}

function positionOf({ nodes, below }: Tree, place: number): number {
  return (below.get(at(nodes.parent, place)) ?? []).indexOf(place);
}

function treeOf(pair: Pair): Promise<Tree> {
  return pair.once("tree", async () => {
    const [nodes, names] = await Promise.all([pair.nodes(), pair.only<string[]>("name")]);
    const below = new Map<number, number[]>();
    nodes.parent.forEach((up, place) => {
      const known = below.get(up);
      if (known === undefined) below.set(up, [place]);
      else known.push(place);
    });
    return { nodes, names, below };
  });
}
