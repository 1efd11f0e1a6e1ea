/* Lists and searches of nodes, as `view/search/node_index.py` and `columns.py` have them. */

import type { NodeList, NodeTable, SearchHits } from "../api/types";
import { type Cells, NOTHING, at } from "./blocks";
import { nearest } from "./nearest";
import { listedRow } from "./nodeanswers";
import type { ListCells, NodeCells, Pair } from "./pair";
import { type State, type Term, expressionOf, parseQuery } from "./query";

const KINDS = ["root", "module", "api", "collection"];
const DIRECTIONS = ["forward", "backward"];
const VERDICTS = ["pass", "warning", "error"];
const LEVELS = ["medium", "high", "critical"];
const CODES: Record<string, readonly string[]> = { kind: KINDS, direction: DIRECTIONS, verdict: VERDICTS };

export interface TableWish {
  q: string;
  sort: string;
  descending: boolean;
  offset: number;
  limit: number;
}

interface Hit {
  pair: Pair;
  row: number;
  key: number;
}

/** A page of the rows that fit a query, over some pairs; `here` is the one that is on screen. */
export async function tableOf(pairs: readonly Pair[], here: Pair, threshold: number | null, wish: TableWish): Promise<NodeTable> {
  const terms = parseQuery(wish.q);
  const found: Hit[] = [];
  for (const pair of pairs) found.push(...(await hitsOf(pair, terms, threshold, wish)));
  // Names and execution order mean nothing from one step and rank to the next; scores do.
  if (pairs.length > 1 && ["score", "introduced"].includes(wish.sort)) found.sort((one, other) => one.key - other.key);
  const page = found.slice(wish.offset, wish.offset + wish.limit);
  const rows = await Promise.all(page.map(({ pair, row }) => pair.list().then(({ listed }) => listedRow(pair, at(listed, row)))));
  const unknown = found.length === 0 ? await unknownWords(here, terms) : [];
  return { total: found.length, offset: wish.offset, rows, searched: pairs.length, pairs: pairs.length, unknown };
}

async function hitsOf(pair: Pair, terms: readonly Term[], threshold: number | null, wish: TableWish): Promise<Hit[]> {
  const [nodes, list, names, paths] = await Promise.all([pair.nodes(), pair.list(), lowNames(pair), pair.only<string[]>("path")]);
  const isView = (row: number): boolean => ["root", "collection"].includes(KINDS[at(nodes.kind, at(list.listed, row))] ?? "");
  const every = [...list.listed.keys()];
  const asked = terms.some((term) => term.of === "field" && term.name === "kind");
  let chosen = asked ? every : every.filter((row) => !isView(row));
  for (const term of terms) {
    let fits = fitting(term, nodes, list, names, threshold);
    // A word that no node has in its name may be that of the module which the list prints.
    if (term.of === "word" && !every.some((row) => !isView(row) && fits(row))) fits = ofModule(term.text, nodes, list, paths);
    chosen = chosen.filter((row) => fits(row) !== term.negated);
  }
  return sorted(chosen, nodes, list, wish).map(({ row, key }) => ({ pair, row, key }));
}

function sorted(rows: readonly number[], nodes: NodeCells, list: ListCells, { sort, descending }: TableWish) {
  const sign = descending ? -1 : 1;
  const keyed = rows.map((row) => {
    const cell = sort === "order" ? row : at(keysOf(nodes, sort), at(list.listed, row));
    return { row, key: Number.isNaN(cell) ? Infinity : sign * cell };
  });
  return keyed.sort(byKey);
}

/** Infinite keys are alike: one less the other is no number. */
function byKey(one: { key: number }, other: { key: number }): number {
  return one.key === other.key ? 0 : one.key - other.key;
}

function keysOf(nodes: NodeCells, sort: string): Cells {
  if (sort === "name") return nodes.nameRank;
  return sort === "introduced" ? nodes.introduced : nodes.shownScore;
}

function fitting(term: Term, nodes: NodeCells, list: ListCells, names: readonly string[], threshold: number | null): (row: number) => boolean {
  const own = (row: number): number => at(list.listed, row);
  const either = (fits: (node: number) => boolean) => (row: number): boolean =>
    fits(own(row)) || (at(list.partner, row) >= 0 && fits(at(list.partner, row)));
  switch (term.of) {
    case "word":
      return either(named(nodes, names, (name) => name.includes(term.text.toLowerCase())));
    case "expression":
      return either(named(nodes, names, (name) => term.expression.test(name)));
    case "bound":
      return (row) => compared(at(term.column === "score" ? nodes.shownScore : nodes[term.column], own(row)), term.operator, term.number);
    case "field":
      return fieldFits(term.name, term.value, nodes, list, either);
    case "state":
      return stateFits(term.state, nodes, own, either, threshold);
  }
}

type Either = (fits: (node: number) => boolean) => (row: number) => boolean;

function fieldFits(name: string, value: string, nodes: NodeCells, list: ListCells, either: Either): (row: number) => boolean {
  if (name === "side") {
    return (row) => at(list.partner, row) >= 0 || (at(nodes.problem, at(list.listed, row)) === 1) === (value === "problem");
  }
  if (name === "overflow") return either((node) => at(nodes.overflow, node) === LEVELS.indexOf(value));
  const cells = nodes[name as "kind" | "direction" | "verdict"];
  const code = CODES[name]?.indexOf(value) ?? NOTHING;
  return (row) => at(cells, at(list.listed, row)) === code;
}

function stateFits(state: State, nodes: NodeCells, own: (row: number) => number, either: Either, threshold: number | null): (row: number) => boolean {
  if (state === "overflow") return either((node) => at(nodes.overflow, node) >= 0);
  if (state === "matched") return (row) => at(nodes.matched, own(row)) === 1;
  if (state === "divergent" || state === "unmatched") return (row) => isShown(state, nodes, own(row), threshold);
  return (row) => at(nodes.direction, own(row)) === DIRECTIONS.indexOf(state);
}

function isShown(show: string, nodes: NodeCells, node: number, threshold: number | null): boolean {
  if (show === "overflow") return at(nodes.overflow, node) >= 0;
  if (threshold === null) return false;
  if (show === "divergent") return at(nodes.matched, node) === 1 && at(nodes.score, node) > threshold;
  return at(nodes.matched, node) === 0 && !["root", "collection"].includes(KINDS[at(nodes.kind, node)] ?? "");
}

function compared(cell: number, operator: string, number: number): boolean {
  if (operator === "<") return cell < number;
  if (operator === "<=") return cell <= number;
  if (operator === ">") return cell > number;
  return operator === ">=" ? cell >= number : cell === number;
}

/** Whether a node's name fits; each name is looked at once. */
function named(nodes: NodeCells, names: readonly string[], fits: (name: string) => boolean): (node: number) => boolean {
  const known = new Uint8Array(names.length);
  return (node) => {
    const name = at(nodes.name, node);
    if (known[name] === 0) known[name] = fits(names[name] ?? "") ? 1 : 2;
    return known[name] === 1;
  };
}

function ofModule(text: string, nodes: NodeCells, list: ListCells, paths: readonly string[]): (row: number) => boolean {
  const wanted = new Set(paths.flatMap((path, place) => (path.includes(text.toLowerCase()) ? [place] : [])));
  const fits = (node: number): boolean => node >= 0 && wanted.has(at(nodes.module, node));
  return (row) => fits(at(list.listed, row)) || fits(at(list.partner, row));
}

function lowNames(pair: Pair): Promise<string[]> {
  return pair.once("lowNames", async () => (await pair.only<string[]>("name")).map((name) => name.toLowerCase()));
}

/** The words that no name and no module has, with the nearest that do. */
async function unknownWords(pair: Pair, terms: readonly Term[]): Promise<{ word: string; nearest: string[] }[]> {
  const [names, paths] = await Promise.all([lowNames(pair), pair.only<string[]>("path")]);
  const words = [...new Set(terms.flatMap((term) => (term.of === "word" ? [term.text] : [])))];
  const isNamed = (word: string): boolean => [...names, ...paths].some((name) => name.includes(word.toLowerCase()));
  const missing = words.filter((word) => !isNamed(word));
  if (missing.length === 0) return [];
  const parts = new Set(names.flatMap((name) => name.split(".")).filter((part) => !/^\d+$/.test(part)));
  return missing.map((word) => ({ word, nearest: nearest(word.toLowerCase(), parts) }));
}

export interface SearchWish {
  q: string;
  regex: boolean;
  exact: boolean;
  side: string | null;
  offset: number;
  limit: number;
}

/** A page of the nodes of both sides whose names have a text, or match an expression. */
export async function searched(pair: Pair, wish: SearchWish): Promise<SearchHits> {
  if (wish.q === "") return { total: 0, offset: wish.offset, hits: [] };
  const [nodes, names] = await Promise.all([pair.nodes(), pair.only<string[]>("name")]);
  const expression = wish.regex ? expressionOf(wish.q, wish.exact) : null;
  const low = (text: string): string => (wish.exact ? text : text.toLowerCase());
  const fits = named(nodes, names, (name) => (expression ? expression.test(name) : low(name).includes(low(wish.q))));
  const side = wish.side === null ? null : Number(wish.side === "problem");
  const found = [...nodes.id.keys()].filter((node) => fits(node) && (side === null || nodes.problem[node] === side));
  const hits = await pair.nodesAt(found.slice(wish.offset, wish.offset + wish.limit));
  return { total: found.length, offset: wish.offset, hits };
}

export interface NodesWish {
  show: string | null;
  source: number | null;
  side: string | null;
  direction: string | null;
  kind: string | null;
  verdict: string | null;
  min_score: number | null;
  name: string | null;
  sort: string;
  descending: boolean;
  offset: number;
  limit: number;
}

/** A page of the nodes that a filter lets through. */
export async function nodesOf(pair: Pair, threshold: number | null, wish: NodesWish): Promise<NodeList> {
  const [nodes, names] = await Promise.all([pair.nodes(), lowNames(pair)]);
  const tests = testsOf(nodes, names, threshold, wish);
  const sign = wish.descending ? -1 : 1;
  const last = Array.from(nodes.order).reduce((most, order) => Math.max(most, order), 0);
  const keyOf = (node: number): number => {
    if (wish.sort === "name") return at(nodes.nameRank, node);
    if (wish.sort === "order") return at(nodes.order, node);
    // Where it begins first: the worst level, and within a level in order of execution.
    if (wish.sort === "overflow") return at(nodes.order, node) - at(nodes.overflow, node) * (last + 1);
    return at(wish.sort === "score" ? nodes.score : nodes.introduced, node);
  };
  const found = [...nodes.id.keys()].filter((node) => tests.every((fits) => fits(node))).map((node) => {
    const key = keyOf(node);
    return { node, key: Number.isNaN(key) ? Infinity : sign * key };
  });
  const page = found.sort(byKey).slice(wish.offset, wish.offset + wish.limit);
  return { total: found.length, offset: wish.offset, nodes: await pair.nodesAt(page.map(({ node }) => node)) };
}

function testsOf(nodes: NodeCells, names: readonly string[], threshold: number | null, wish: NodesWish): ((node: number) => boolean)[] {
  const { show, side, source, min_score: least, name } = wish;
  const tests: ((node: number) => boolean)[] = [];
  if (side !== null) tests.push((node) => at(nodes.problem, node) === Number(side === "problem"));
  for (const field of ["kind", "direction", "verdict"] as const) {
    const code = CODES[field]?.indexOf(wish[field] ?? "") ?? NOTHING;
    if (wish[field] !== null) tests.push((node) => at(nodes[field], node) === code);
  }
  if (source !== null) tests.push((node) => at(nodes.source, node) === source);
  if (least !== null) tests.push((node) => at(nodes.score, node) >= least);
  if (show !== null) tests.push((node) => isShown(show, nodes, node, threshold));
  if (name !== null) tests.push(named(nodes, names, (one) => one.includes(name.toLowerCase())));
  return tests;
}
