/* A window of the tree of modules, as `view/diff/outline.py` has it. */

import type { OutlineRow, OutlineWindow } from "../api/types";
import { NOTHING, at, partOf } from "./blocks";
import { type ModuleCells, type Pair, numberAt } from "./pair";

export interface OutlineWish {
  toggled: readonly number[];
  divergent: boolean;
  here: number | null;
  prefix: string;
  after: number;
  offset: number;
  limit: number;
}

type Titles = readonly [title: string[], typeName: string[], other: string[]];

/** The rows of the tree from an offset on. */
export async function outlineOf(pair: Pair, wish: OutlineWish): Promise<OutlineWindow> {
  const [tree, titles, rows] = await Promise.all([pair.modules(), pair.only<Titles>("module"), pair.rows()]);
  const count = tree.last.length;
  const differs = (entry: number): boolean => at(tree.divergent, entry) > 0 || at(tree.causes, entry) > 0;
  const isKept = (entry: number): boolean => !wish.divergent || differs(entry);
  const isOpen = new Uint8Array(count).fill(wish.divergent ? 1 : 0);
  isOpen.fill(1, 0, 1);
  for (const entry of new Set(wish.toggled)) if (entry < count) isOpen[entry] = isOpen[entry] === 1 ? 0 : 1;
  const seen: number[] = [];
  for (let entry = 0; entry < count; entry++) {
    if (isKept(entry)) seen.push(entry);
    if (isOpen[entry] === 0) entry = at(tree.last, entry);
  }
  const children = memo((entry: number) => childrenOf(tree, entry).filter(isKept));
  const depth = (entry: number): number => (entry < 0 ? -1 : depth(at(tree.parent, entry)) + 1);
  const row = (entry: number): OutlineRow => {
    const above = at(tree.parent, entry);
    const beside = above >= 0 ? children(above) : [entry];
    return {
      entry,
      node: at(rows.key, at(tree.row, entry)),
      title: titles[0][entry] ?? "",
      type_name: titles[1][entry] ?? "",
      other: titles[2][entry] ?? "",
      depth: depth(entry),
      above: above >= 0 ? before(seen, above) : null,
      children: children(entry).length,
      open: isOpen[entry] === 1,
      position: before(beside, entry),
      siblings: beside.length,
      nodes: at(tree.nodes, entry),
      divergent: at(tree.divergent, entry),
      alone: at(tree.alone, entry),
      begins: at(tree.begins, entry) > 0,
      worst: numberAt(tree.worst, entry),
    };
  };
  const modules = Array.from({ length: Math.max(0, count - 1) }, (_, place) => place + 1);
  const top = modules.filter((entry) => at(tree.parent, entry) === 0);
  return {
    total: seen.length,
    offset: wish.offset,
    rows: seen.slice(wish.offset, wish.offset + wish.limit).map(row),
    modules: count - 1,
    divergent: modules.filter(differs).length,
    outside: top.reduce((rest, entry) => rest - at(tree.divergent, entry), at(tree.divergent, 0)),
    here: wish.here === null ? null : hereOf(tree, seen, (await pair.rowOf()).get(wish.here)),
    found: foundOf(titles[0], seen, wish.prefix, wish.after),
  };
}

function childrenOf({ parent, last }: ModuleCells, entry: number): number[] {
  const found: number[] = [];
  for (let one = entry + 1; one <= at(last, entry); one = at(last, one) + 1) if (at(parent, one) === entry) found.push(one);
  return found;
}

function memo<T>(make: (of: number) => T): (of: number) => T {
  const known = new Map<number, T>();
  return (of) => {
    const made = known.get(of) ?? make(of);
    known.set(of, made);
    return made;
  };
}

/** How many stand before a number in rising ones. */
function before(rising: readonly number[], number: number): number {
  return partOf(rising, number - 1) + 1;
}

/** The row of the module that a node is in, or of what it is closed into. */
function hereOf(tree: ModuleCells, seen: readonly number[], row: number | undefined): number | null {
  if (row === undefined || seen.length === 0) return null;
  const entry = at(tree.owner, row);
  const place = partOf(seen, entry);
  return place >= 0 && at(tree.last, seen[place] ?? NOTHING) >= entry ? place : null;
}

function foundOf(titles: readonly string[], seen: readonly number[], prefix: string, after: number): number | null {
  if (prefix === "" || seen.length === 0) return null;
  const wanted = prefix.toLowerCase();
  for (let step = 1; step <= seen.length; step++) {
    const place = (after + step) % seen.length;
    if (titles[seen[place] ?? 0]?.toLowerCase().startsWith(wanted)) return place;
  }
  return null;
}
