/* Which rows go back to which cause, and what lies on the way: over the edges that the server found. */

import type { NodeList } from "../api/types";
import { NOTHING, at } from "./blocks";
import type { Pair, RowCells, WayCells } from "./pair";

/** What goes back into the step before. */
const EARLIER = -2;

export interface Leading {
  through: Uint8Array;
  goals: number[];
}

/** Over which rows ways back from one may lead, and the rows where they are to end. */
export function leading(ways: WayCells, row: number): Leading {
  const cause = at(ways.cause, row);
  const sure = at(ways.isGuess, row) === 0 && cause !== NOTHING;
  const through = Uint8Array.from(ways.cause, (one, place) => {
    if (one !== cause || (sure && ways.isGuess[place] === 1)) return 0;
    return cause === NOTHING ? at(ways.isCarrying, place) : 1;
  });
  if (cause === NOTHING) return { through, goals: [...ways.receivedRow] };
  if (cause !== EARLIER) return { through, goals: [cause] };
  return { through, goals: [...ways.carriedRow].filter((one) => through[one] === 1) };
}

/** What is on no way to a target from where it goes back to, by a flag each row. */
export async function offTheWay(pair: Pair, cause: number, target: number): Promise<Uint8Array | null> {
  const [rows, ways] = await Promise.all([pair.rows(), pair.ways()]);
  if (ways === null) return null;
  const start = at(ways.begin, target);
  const everywhere = new Uint8Array(rows.key.length).fill(1);
  if (at(ways.cause, start) === NOTHING) {
    const edges = Array.from(ways.readStart, (_, edge) => edge);
    return off(rows, edges.map((edge) => [at(ways.readStart, edge), at(ways.readEnd, edge)]), everywhere, [cause], target);
  }
  const certain = at(ways.isGuess, start) === 0;
  const { through, goals } = leading(ways, start);
  const edges: [number, number][] = [];
  ways.edgeStart.forEach((from, edge) => {
    const to = at(ways.edgeEnd, edge);
    if (ways.isPassable[from] !== 1 || ways.isPassable[to] !== 1) return;
    if (!certain || ways.edgeCertain[edge] === 1) edges.push([from, to]);
  });
  return off(rows, edges, through, goals, target);
}

function off(rows: RowCells, edges: [number, number][], through: Uint8Array, causes: readonly number[], target: number): Uint8Array {
  const [start, end] = [inside(rows, causes), inside(rows, [target])];
  const passes = (row: number): boolean => through[row] === 1 || start[row] === 1 || end[row] === 1;
  const kept = edges.filter(([from, to]) => passes(from) && passes(to));
  const ahead = reached(kept, start);
  const back = reached(kept.map(([from, to]) => [to, from]), end);
  const hidden = new Uint8Array(start.length).fill(1);
  for (let row = start.length - 1; row >= 0; row--) {
    const isOn = (ahead[row] === 1 && back[row] === 1) || start[row] === 1 || end[row] === 1;
    if (!isOn) continue;
    for (let up = row; up !== NOTHING && hidden[up] === 1; up = at(rows.parent, up)) hidden[up] = 0;
  }
  return hidden;
}

function inside({ last }: RowCells, chosen: readonly number[]): Uint8Array {
  const flags = new Uint8Array(last.length);
  for (const row of chosen) flags.fill(1, row, at(last, row) + 1);
  return flags;
}

/** All rows that can be reached along links, the start included. */
function reached(edges: readonly (readonly [number, number])[], start: Uint8Array): Uint8Array {
  const targets = new Map<number, number[]>();
  for (const [from, to] of edges) {
    const known = targets.get(from);
    if (known) known.push(to);
    else targets.set(from, [to]);
  }
  const found = Uint8Array.from(start);
  const pending = [...start.keys()].filter((row) => start[row] === 1);
  for (let row = pending.pop(); row !== undefined; row = pending.pop()) {
    for (const to of targets.get(row) ?? []) {
      if (found[to] === 1) continue;
      found[to] = 1;
      pending.push(to);
    }
  }
  return found;
}

export interface DivergentWish {
  /** Nodes of a cause; null for what goes back to none. */
  cause: readonly number[] | null;
  earlier: boolean;
  perhaps: boolean;
  offset: number;
  limit: number;
}

/** A page of the divergent nodes that go back to one cause, or to none, in execution order. */
export async function divergentOf(pair: Pair, wish: DivergentWish): Promise<NodeList> {
  const [rows, ways] = await Promise.all([pair.rows(), pair.ways()]);
  if (ways === null) return { total: 0, offset: wish.offset, nodes: [] };
  const causes = await causesOf(pair, ways, wish);
  const guessed = wish.earlier ? null : Number(wish.perhaps);
  const found = [...ways.isDivergent.keys()].filter(
    (row) => ways.isDivergent[row] === 1 && causes.has(at(ways.cause, row)) && (guessed === null || ways.isGuess[row] === guessed),
  );
  found.sort((one, other) => at(ways.execution, one) - at(ways.execution, other));
  const placeOf = await pair.placeOf();
  const page = found.slice(wish.offset, wish.offset + wish.limit).map((row) => placeOf.get(at(rows.key, row)) ?? NOTHING);
  return { total: found.length, offset: wish.offset, nodes: await pair.nodesAt(page) };
}

async function causesOf(pair: Pair, ways: WayCells, wish: DivergentWish): Promise<Set<number>> {
  const isCause = (row: number): boolean => ways.isCause[row] === 1;
  if (wish.cause !== null) {
    const rowOf = await pair.rowOf();
    return new Set(wish.cause.flatMap((node) => rowOf.get(node) ?? []).filter(isCause));
  }
  if (wish.perhaps) return new Set([...ways.isCause.keys()].filter(isCause));
  return new Set([wish.earlier ? EARLIER : NOTHING]);
}
