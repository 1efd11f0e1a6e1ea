/* What is known of a node, made of what is kept by node: as `builder/results/node_details.py` has it. */

import type { Flow, FlowLink, NodeDetails, NodeRow, PlacedHop } from "../api/types";
import { NOTHING, at, partOf } from "./blocks";
import type { LinkCells, Pair } from "./pair";

type ValuePair = NodeDetails["values"][number];
type Value = NonNullable<ValuePair["problem"]>;

/** Of a node its module, what a lone one hands on and the score it is listed with, its stack. */
export interface NodeFacts {
  module: string | null;
  handed_on: NonNullable<NodeDetails["handed_on"]> | null;
  score: number | null;
  stack: number | null;
  communication: NodeDetails["communication"];
  values: number;
}

/** A value of both sides; `follow`: measures of its statistics follow from them. */
interface ShownValue {
  value: ValuePair;
  follow: boolean;
}

const MOST_LINKS = 2_000;
const STATISTICS = [["Max", "max"], ["Min", "min"], ["Mean", "mean"], ["Norm", "norm"]] as const;

export function factsOf(pair: Pair, place: number): Promise<NodeFacts> {
  return pair.record<NodeFacts>("about", place);
}

/** All that is known of the node at a place. */
export async function detailsOf(pair: Pair, place: number): Promise<NodeDetails> {
  if (pair.has("answer")) return pair.text<NodeDetails>("answer", place);
  const [node, facts, placeOf] = await Promise.all([pair.node(place), factsOf(pair, place), pair.placeOf()]);
  const other = node.match === null ? undefined : placeOf.get(node.match);
  const own = await stackOf(pair, facts.stack);
  const theirs = other === undefined ? null : await stackOf(pair, (await factsOf(pair, other)).stack);
  const [problem, benchmark] = node.side === "problem" ? [own, theirs] : [theirs, own];
  return {
    node,
    partner: other === undefined ? null : await pair.node(other),
    values: await valuesOf(pair, facts.values),
    stack: { problem, benchmark },
    communication: facts.communication,
    handed_on: other === undefined ? facts.handed_on : null,
  };
}

async function stackOf(pair: Pair, number: number | null): Promise<string[] | null> {
  if (number === null) return null;
  const { id } = await pair.stacks();
  const line = partOf(id, number);
  const frames = at(id, line) === number ? await pair.text<string[]>("stack", line) : [];
  return frames.length > 0 ? frames : null;
}

async function valuesOf(pair: Pair, line: number): Promise<ValuePair[]> {
  const shown = await pair.record<ShownValue[]>("values", line);
  return shown.map(({ value, follow }) => (follow ? { ...value, measures: { ...measuresOf(value), ...value.measures } } : value));
}

/** Differences and relative errors of finite statistics, as `builder/results/value_measures.py` has them. */
function measuresOf({ problem, benchmark }: ValuePair): ValuePair["measures"] {
  if (problem === null || benchmark === null) return {};
  const measured = (measure: (ours: number, theirs: number) => number) => (of: keyof Value) => {
    const [ours, theirs] = [problem[of], benchmark[of]];
    return typeof ours === "number" && typeof theirs === "number" ? sent(measure(ours, theirs)) : null;
  };
  const difference = measured((ours, theirs) => ours - theirs);
  const relative = measured((ours, theirs) => (ours === theirs ? 0 : Math.abs(ours - theirs) / Math.abs(theirs)));
  return Object.fromEntries([
    ...STATISTICS.map(([name, key]) => [`${name} diff`, difference(key)] as const),
    ...STATISTICS.map(([name, key]) => [`${name}RelativeErr`, relative(key)] as const),
  ]);
}

/** JSON has no infinity. */
function sent(number: number): number | "inf" | "-inf" {
  if (Number.isFinite(number)) return number;
  return number > 0 ? "inf" : "-inf";
}

/** What fed the node at a place, and what it fed. */
export async function flowOf(pair: Pair, place: number): Promise<Flow> {
  const [{ id }, links, into, from] = await Promise.all([pair.nodes(), pair.links(), ends(pair, "consumer"), ends(pair, "producer")]);
  const [near, paths] = [at(id, place), await pair.only<string[]>("link path")];
  return {
    producers: await linksTo(pair, links, paths, into.get(near) ?? [], links.producer),
    consumers: await linksTo(pair, links, paths, from.get(near) ?? [], links.consumer),
  };
}

/** The links of each node at one of their ends. */
function ends(pair: Pair, end: "producer" | "consumer"): Promise<Map<number, number[]>> {
  return pair.once(`links by ${end}`, async () => {
    const found = new Map<number, number[]>();
    (await pair.links())[end].forEach((node, link) => {
      const known = found.get(node);
      if (known === undefined) found.set(node, [link]);
      else known.push(link);
    });
    return found;
  });
}

async function linksTo(pair: Pair, links: LinkCells, paths: readonly string[], near: readonly number[], far: ArrayLike<number>): Promise<FlowLink[]> {
  const placeOf = await pair.placeOf();
  const byEnd = (one: number, other: number): number => at(far, one) - at(far, other) || at(links.value, one) - at(links.value, other);
  const first = [...near].sort(byEnd).slice(0, MOST_LINKS).filter((link) => placeOf.has(at(far, link)));
  const told = first.map(async (link): Promise<FlowLink> => ({
    node: await pair.node(placeOf.get(at(far, link)) ?? NOTHING),
    path: paths[at(links.path, link)] ?? "",
    value: at(links.value, link),
    exact: at(links.exact, link) === 1,
  }));
  return (await Promise.all(told)).sort((one, other) => one.node.order - other.node.order || one.value - other.value);
}

/** The row of a list for the node at a place. */
export async function listedRow(pair: Pair, place: number): Promise<NodeRow> {
  const [node, facts] = await Promise.all([pair.node(place), factsOf(pair, place)]);
  const other = node.match === null ? undefined : (await pair.placeOf()).get(node.match);
  const partner = other === undefined ? null : (await pair.node(other)).name;
  const { step, rank } = pair;
  const isLone = node.match === null;
  return { step, rank, module: facts.module, node: { ...node, score: facts.score ?? node.score }, partner, stack: isLone ? facts.stack : null };
}

/** The node at a place as a way begins at it; one without a partner has what it hands on. */
export async function startOf(pair: Pair, place: number): Promise<PlacedHop> {
  const [node, { module, handed_on }] = await Promise.all([pair.node(place), factsOf(pair, place)]);
  const { name, side, order, input_score, match } = node;
  const score = node.score ?? handed_on?.score ?? null;
  return { node: node.id, name, side, order, score, input_score, link: "start", value: null, output: null, exact: false, matched: match !== null, step: null, module };
}
