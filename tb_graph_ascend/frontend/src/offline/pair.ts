/* One step and rank of a page that carries its result: columns by row and node, and texts. */

import type { DiffRow, Node } from "../api/types";
import { type Blocks, type Cells, type Lines, type PairEntry, NOTHING, at } from "./blocks";

const ROW = ["key", "ours", "theirs", "parent", "last", "children", "score", "worstBelow", "handedOn", "runMember", "runFirst", "flowProducer", "flowConsumer", "flowExact"] as const;
const PICTURE = ["isCollection", "isBackward", "isGradient", "isUnrecorded", "isReshaping", "drawnProducer", "drawnConsumer", "drawnKnown", "drawnValue"] as const;
const NODE = ["id", "problem", "order", "kind", "direction", "matched", "score", "introduced", "verdict", "overflow", "source", "input", "parent", "shownScore", "name", "nameRank", "module"] as const;
const LIST = ["listed", "partner"] as const;
const MODULE = ["parent", "last", "row", "owner", "nodes", "divergent", "alone", "causes", "begins", "worst"] as const;
const WAY = ["cause", "isGuess", "isDivergent", "isCause", "isCarrying", "isPassable", "begin", "execution", "stateScore", "receivedRow", "carriedRow", "edgeStart", "edgeEnd", "edgeKind", "edgeCertain", "readStart", "readEnd"] as const;

const LINK = ["producer", "consumer", "value", "exact", "path"] as const;
const STACK = ["id"] as const;

type Named<Names extends readonly string[]> = Record<Names[number], Cells>;
export type RowCells = Named<typeof ROW>;
export type PictureCells = Named<typeof PICTURE>;
export type NodeCells = Named<typeof NODE>;
export type ListCells = Named<typeof LIST>;
export type ModuleCells = Named<typeof MODULE>;
export type WayCells = Named<typeof WAY>;
export type LinkCells = Named<typeof LINK>;

/** The texts that belong to columns by name. */
type Texts = "seen" | "name" | "path" | "module" | "origins" | "stack" | "link path" | "shards" | WholeAnswer;
/** What a file of msprobe's own builder has written ahead of each node. */
export type WholeAnswer = "answer" | "answer/flow" | "answer/across" | "answer/trace";
/** The records that belong to columns by name. */
type Tables = "row" | "fact" | "node" | "about" | "values" | "edge";

const NO_LINES: Lines = { starts: [], blocks: [], count: 0 };

/** A step and rank; each part is read once, when it is first asked for. */
export class Pair {
  readonly step: number;
  readonly rank: number;
  private readonly read = new Map<string, Promise<unknown>>();

  constructor(
    private readonly blocks: Blocks,
    private readonly entry: PairEntry,
  ) {
    this.step = entry.step;
    this.rank = entry.rank;
  }

  /** The tree of rows, their scores, what flows between them. */
  rows = (): Promise<RowCells> => this.group("row", ROW);
  /** What a picture asks of rows. */
  picture = (): Promise<PictureCells> => this.group("row", PICTURE, "picture");
  nodes = (): Promise<NodeCells> => this.group("node", NODE);
  list = (): Promise<ListCells> => this.group("list", LIST);
  modules = (): Promise<ModuleCells> => this.group("module", MODULE);
  /** Where rows go back to; null where nothing was compared. */
  ways = (): Promise<WayCells | null> =>
    "way.cause" in this.entry.columns ? this.group("way", WAY) : Promise.resolve(null);

  /** What passed from call to call, by link. */
  links = (): Promise<LinkCells> => this.group("link", LINK);
  /** The numbers of stacks, rising. */
  stacks = (): Promise<Named<typeof STACK>> => this.group("stack", STACK);

  /** How far rows are set in: by all that stand above them. */
  depths = (): Promise<Int32Array> =>
    this.once("depths", async () => {
      const { parent } = await this.rows();
      const depth = new Int32Array(parent.length);
      for (let row = 0; row < parent.length; row++) {
        const above = at(parent, row);
        depth[row] = above < 0 ? 0 : at(depth, above) + 1;
      }
      return depth;
    });

  /** The rows of nodes of both sides, by their ids. */
  rowOf = (): Promise<Map<number, number>> =>
    this.once("rowOf", async () => {
      const [{ ours, theirs }, { id, problem }] = await Promise.all([this.rows(), this.nodes()]);
      const first = problem.indexOf(0);
      const offset = first < 0 ? problem.length : first;
      const rowOf = new Map<number, number>();
      for (let row = 0; row < ours.length; row++) {
        if (at(theirs, row) >= 0) rowOf.set(at(id, offset + at(theirs, row)), row);
        if (at(ours, row) >= 0) rowOf.set(at(id, at(ours, row)), row);
      }
      return rowOf;
    });

  /** The places of nodes, by their ids. */
  placeOf = (): Promise<Map<number, number>> =>
    this.once("placeOf", async () => {
      const { id } = await this.nodes();
      const placeOf = new Map<number, number>();
      id.forEach((node, place) => placeOf.set(node, place));
      return placeOf;
    });

  /** A row as it stands where all is closed. */
  closedRow = (row: number): Promise<DiffRow> => this.record<DiffRow>("row", row);
  /** A node by its place. */
  node = (place: number): Promise<Node> => this.record<Node>("node", place);
  nodesAt = (places: readonly number[]): Promise<Node[]> => Promise.all(places.map(this.node));

  record<T>(name: Tables, line: number): Promise<T> {
    return this.blocks.record<T>(this.entry.tables[name] ?? NO_LINES, line);
  }

  text<T>(name: Texts, line: number): Promise<T> {
    return this.blocks.json<T>(this.lines(name), line);
  }

  /** One of the texts as it was written. */
  line(name: Texts, line: number): Promise<string> {
    return this.blocks.line(this.lines(name), line);
  }

  has(name: Texts): boolean {
    return name in this.entry.lines;
  }

  /** What there is one of, kept once it was read. */
  only<T>(name: Texts): Promise<T> {
    return this.once(`only ${name}`, () => this.text<T>(name, 0));
  }

  once<T>(name: string, make: () => Promise<T>): Promise<T> {
    let made = this.read.get(name) as Promise<T> | undefined;
    if (made === undefined) {
      made = make();
      this.read.set(name, made);
    }
    return made;
  }

  private lines(name: Texts): Lines {
    return this.entry.lines[name] ?? NO_LINES;
  }

  private group<Names extends readonly string[]>(group: string, names: Names, as = group): Promise<Named<Names>> {
    return this.once(as, async () => {
      const columns = names.map((name) => {
        const column = this.entry.columns[`${group}.${name}`];
        if (column === undefined) throw new Error(`the page holds no column ${group}.${name}`);
        return this.blocks.column(column);
      });
      const cells = await Promise.all(columns);
      return Object.fromEntries(names.map((name, place) => [name, cells[place]])) as Named<Names>;
    });
  }
}

/** A number that was rounded when it was written; null for none. */
export function numberAt(cells: Cells, place: number): number | null {
  const cell = at(cells, place);
  return Number.isNaN(cell) ? null : cell;
}

/** The rows above a row, the root first. */
export function above({ parent }: Pick<RowCells, "parent">, row: number): number[] {
  const found: number[] = [];
  for (let up = at(parent, row); up !== NOTHING; up = at(parent, up)) found.push(up);
  return found.reverse();
}
