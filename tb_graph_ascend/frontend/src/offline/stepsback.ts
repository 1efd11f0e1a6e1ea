/* The best way from a row back to where it goes back to, as `results/followers/ways.py` has it. */

import { NOTHING, at } from "./blocks";
import { Heap } from "./heap";
import type { WayCells } from "./pair";
import { leading } from "./ways";

/** Places in KINDS of `carry_edges.py`. */
const [INPUT, FORWARD, CAUSE, RETURNED] = [0, 2, 3, 5];
const [NEAR, GUESSED] = [1, 20];
const COST = new Map([
  [FORWARD, 3],
  [RETURNED, 3],
  [CAUSE, 1000],
]);
const [LESS_OFF, PLAIN, EARLY] = [10, 0.25, 3];

/** Edges by the row that they lead to. */
export function incoming(ways: WayCells, certain: boolean): Map<number, number[]> {
  const into = new Map<number, number[]>();
  ways.edgeEnd.forEach((row, edge) => {
    if (certain && ways.edgeCertain[edge] !== 1) return;
    const known = into.get(row);
    if (known) known.push(edge);
    else into.set(row, [edge]);
  });
  return into;
}

/** The edges along which a way leads back from a row, the nearest first. */
export function stepsBack(ways: WayCells, into: ReadonlyMap<number, readonly number[]>, row: number): number[] {
  const { through, goals } = leading(ways, row);
  const wanted = new Set(goals);
  const came = new Map<number, { before: number; edge: number }>();
  const waiting = new Heap();
  waiting.push([0, row, NOTHING, NOTHING, 1, NOTHING]);
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const [cost = 0, here = 0, before = 0, , , edge = 0] = next;
    if (came.has(here)) continue;
    came.set(here, { before, edge });
    if (wanted.has(here)) return pathTo(came, here);
    const steps = (into.get(here) ?? []).filter((one) => through[at(ways.edgeStart, one)] === 1 || wanted.has(at(ways.edgeStart, one)));
    const prices = pricesOf(ways, steps);
    steps.forEach((one, place) => {
      const from = at(ways.edgeStart, one);
      if (came.has(from)) return;
      waiting.push([cost + (prices[place] ?? 0), from, here, at(ways.edgeKind, one), at(ways.edgeCertain, one), one]);
    });
  }
  return pathTo(came, firstRun(ways, [...came.keys()]));
}

/** What ran first; what the benchmark alone has has no place in the order and comes last. */
function firstRun({ execution }: WayCells, rows: readonly number[]): number {
  const order = (row: number): number => (at(execution, row) < 0 ? Infinity : at(execution, row));
  return rows.reduce((first, row) => {
    const [one, other] = [order(row), order(first)];
    return one < other || (one === other && row < first) ? row : first;
  });
}

function pathTo(came: ReadonlyMap<number, { before: number; edge: number }>, end: number): number[] {
  const edges: number[] = [];
  for (let step = came.get(end); step !== undefined && step.before !== NOTHING; step = came.get(step.before)) edges.push(step.edge);
  return edges.reverse();
}

/** What each of the steps from one row costs. */
function pricesOf(ways: WayCells, steps: readonly number[]): number[] {
  const read = steps.filter((edge) => ways.edgeKind[edge] === INPUT);
  const worst = read.length === 0 ? 0 : Math.max(...read.map((edge) => scoreOf(ways, edge, 0)));
  const others = steps.some((edge) => ways.edgeKind[edge] !== CAUSE);
  return steps.map((edge) => priceOf(ways, edge, worst) + (ways.edgeKind[edge] === CAUSE && others ? EARLY * (COST.get(CAUSE) ?? 0) : 0));
}

function priceOf(ways: WayCells, edge: number, worst: number): number {
  if (ways.edgeCertain[edge] !== 1) return GUESSED;
  if (ways.edgeKind[edge] !== INPUT) return COST.get(at(ways.edgeKind, edge)) ?? NEAR;
  const lessOff = worst - scoreOf(ways, edge, worst);
  const dodged = lessOff > PLAIN ? (COST.get(CAUSE) ?? 0) : 0;
  return NEAR + 1 - scoreOf(ways, edge, 0) + LESS_OFF * lessOff + dodged;
}

function scoreOf({ stateScore, edgeStart }: WayCells, edge: number, unknown: number): number {
  const score = at(stateScore, at(edgeStart, edge));
  return Number.isNaN(score) ? unknown : score;
}
