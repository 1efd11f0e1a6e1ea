/* The way from a node back to its cause, as `results/followers/told_way.py` tells it. */

import type { PlacedHop, PlacedTrace } from "../api/types";
import { NOTHING, at } from "./blocks";
import { startOf } from "./nodeanswers";
import type { Pair, WayCells } from "./pair";
import { incoming, stepsBack } from "./stepsback";

const EARLIER = -2;
const MOST_STEPS = 8;
/** Scores have two digits; what is below this is shown as none. */
const SHOWN = 0.005;

interface Written {
  writer: number;
  value: string | null;
  output: string | null;
  link: PlacedHop["link"];
}

interface Origins {
  findings: Record<string, number>;
  before: number | null;
  written: Record<string, Written>;
}

type Passed = Pick<PlacedHop, "link" | "value" | "output" | "exact">;

/** The way from the node at a place; what the step before wrote is followed there. */
export async function tracedWay(pairs: readonly Pair[], pair: Pair, place: number): Promise<PlacedTrace> {
  const start = await startOf(pair, place);
  const { step, rank } = pair;
  const ways = await pair.ways();
  if (ways === null) return { step, rank, finding: null, differs: false, hops: [start] };
  const [rowOf, rows] = await Promise.all([pair.rowOf(), pair.rows()]);
  let row = rowOf.get(start.node) ?? 0;
  const hops = [start];
  const key = at(rows.key, row);
  if (key !== start.node) hops.push({ ...(await hopOf(pair, key)), link: "partner" });
  let here: Pair = pair;
  let known = ways;
  hops.push(...(await within(here, known, row, null)));
  let cause = at(known.cause, at(known.begin, row));
  const differs = ways.isCarrying[row] === 1 || cause !== NOTHING;
  for (let steps = 0; steps < MOST_STEPS && cause === EARLIER; steps++) {
    const { before, written } = await here.only<Origins>("origins");
    const found = written[String(hops.at(-1)?.node)];
    const earlier = pairs.find((one) => one.rank === rank && one.step === before);
    const earlierWays = await earlier?.ways();
    if (found === undefined || !earlier || !earlierWays) break;
    const { writer, value, output, link } = found;
    hops.push({ ...(await hopOf(earlier, writer)), link, value, output, step: before });
    [here, known] = [earlier, earlierWays];
    row = (await here.rowOf()).get(writer) ?? 0;
    hops.push(...(await within(here, known, row, before)));
    cause = at(known.cause, at(known.begin, row));
  }
  const finding = cause >= 0 ? await findingOf(pairs, hops.at(-1)?.node ?? 0) : null;
  if (finding === null && hops.every(({ score }) => score !== null && score < SHOWN)) {
    return { step, rank, finding, differs: false, hops: hops.slice(0, 1) };
  }
  return { step, rank, finding, differs, hops };
}

async function hopOf(pair: Pair, node: number): Promise<PlacedHop> {
  return startOf(pair, (await pair.placeOf()).get(node) ?? NOTHING);
}

/** The hops behind a row; of one that does not differ those of what is in it. */
async function within(pair: Pair, ways: WayCells, row: number, step: number | null): Promise<PlacedHop[]> {
  const { key } = await pair.rows();
  const start = at(ways.begin, row);
  const hops: PlacedHop[] = start === row ? [] : [{ ...(await hopOf(pair, at(key, start))), link: "inside", step }];
  if (ways.isCarrying[start] !== 1) return hops;
  const sure = ways.isGuess[start] === 0;
  const into = await pair.once(`into ${sure}`, () => Promise.resolve(incoming(ways, sure)));
  for (const edge of stepsBack(ways, into, start)) {
    const passed = await pair.record<Passed>("edge", edge);
    hops.push({ ...(await hopOf(pair, at(key, at(ways.edgeStart, edge)))), ...passed, step });
  }
  return hops;
}

/** The number of the finding that names a node; 0 where measures alone show it first. */
async function findingOf(pairs: readonly Pair[], node: number): Promise<number> {
  for (const pair of pairs) {
    const { findings } = await pair.only<Origins>("origins");
    const found = findings[String(node)];
    if (found !== undefined) return found;
  }
  return 0;
}
