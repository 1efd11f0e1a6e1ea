/* Answers the questions that the page asks of a server, out of the page: most were written ahead. */

import type { Path } from "../api/types";
import { acrossOf } from "./across";
import { graphOf } from "./boxes";
import { Blocks, type PageData, at } from "./blocks";
import { nodesOf, searched, tableOf } from "./listing";
import { detailsOf, factsOf, flowOf } from "./nodeanswers";
import { outlineOf } from "./outline";
import { Pair, type WholeAnswer } from "./pair";
import { Refused, notHere } from "./refusal";
import { windowOf } from "./rowwindow";
import { tracedWay } from "./traces";
import { divergentOf } from "./ways";
import { weightsOf } from "./weights";

const PAIR = /^databases\/[^/]+\/pairs\/(-?\d+)\/(-?\d+)\/(rows|outline|graph|divergent|nodes|search|weights)$/;
const NODE = /^databases\/[^/]+\/nodes\/(\d+)(?:\/(flow|across|shards|path|children|trace))?$/;
type NodeRest = "flow" | "across" | "shards" | "path" | "children" | "trace" | undefined;
const TABLE = /^databases\/[^/]+\/nodes$/;

/** Answers by address, below `api/`. */
export class Router {
  private readonly pairs: readonly Pair[];
  private readonly addresses: ReadonlyMap<string, number>;

  constructor(
    private readonly blocks: Blocks,
    private readonly data: PageData,
  ) {
    this.pairs = data.pairs.map((entry) => new Pair(blocks, entry));
    this.addresses = new Map(data.addresses.map((address, line) => [address, line]));
  }

  /** What a server would answer: a response with its status. */
  async answer(url: string, init: RequestInit = {}): Promise<Response> {
    const [path = "", query = ""] = url.slice(url.indexOf("/api/") + 5).split("?");
    try {
      if (init.method !== undefined && init.method !== "GET") throw notHere(path);
      const body = await this.text(path, new Arguments(new URLSearchParams(query)));
      init.signal?.throwIfAborted();
      return new Response(body, { status: 200 });
    } catch (error) {
      if (error instanceof Refused) return new Response(JSON.stringify(error.body), { status: error.status });
      throw error;
    }
  }

  private async text(path: string, given: Arguments): Promise<string> {
    const [, step, rank, about] = PAIR.exec(path) ?? [];
    if (about !== undefined) return JSON.stringify(await this.ofPair(about, this.pair(Number(step), Number(rank)), path, given));
    const [, node, rest] = NODE.exec(path) ?? [];
    if (node !== undefined) return this.ofNode(Number(node), rest as NodeRest, given);
    if (TABLE.test(path)) return JSON.stringify(await this.table(given));
    return this.written(path);
  }

  private async written(path: string): Promise<string> {
    const line = this.addresses.get(path);
    if (line === undefined) throw notHere(path);
    const text = await this.blocks.line(this.data.answers, line);
    unrefused(text);
    // Files are no JSON objects and lie here as strings, so that each is one line.
    return text.startsWith('"') ? (JSON.parse(text) as string) : text;
  }

  private pair(step: number, rank: number): Pair {
    const pair = this.pairs.find((one) => one.step === step && one.rank === rank);
    if (pair === undefined) throw notHere(`step ${step} rank ${rank}`);
    return pair;
  }

  private async ofPair(about: string, pair: Pair, path: string, given: Arguments): Promise<unknown> {
    const page = { offset: given.number("offset") ?? 0, limit: given.number("limit") ?? 200 };
    switch (about) {
      case "rows": {
        const [cause, target] = [given.number("cause"), given.number("target")];
        const keep = given.number("keep");
        const way: [number, number] | null = cause === null || target === null ? null : [cause, target];
        const wish = { open: given.text("open") ?? "", kept: keep === null ? [] : [keep], way, reveal: given.number("reveal") };
        return windowOf(pair, { ...wish, ...page, limit: given.number("limit") ?? 150 }, this.data.threshold !== null);
      }
      case "outline":
        return outlineOf(pair, { toggled: given.numbers("toggled"), divergent: given.flag("divergent"), here: given.number("here"), prefix: given.text("prefix") ?? "", after: given.number("after") ?? 0, ...page });
      case "graph":
        return graphOf(pair, given.number("module") ?? 0, given.numbers("open"));
      case "divergent": {
        const cause = given.text("cause") === null ? null : given.numbers("cause");
        return divergentOf(pair, { cause, earlier: given.flag("earlier"), perhaps: given.flag("perhaps"), ...page });
      }
      case "weights":
        return weightsOf(await this.written(path), { part: given.text("part") ?? "", relation: given.text("relation"), ...page });
      case "search":
        return searched(pair, { q: given.text("q") ?? "", regex: given.flag("regex"), exact: given.flag("case"), side: given.text("side"), ...page });
      default:
        return nodesOf(pair, this.data.threshold, { show: given.text("show"), source: given.number("source"), side: given.text("side"), direction: given.text("direction"), kind: given.text("kind"), verdict: given.text("verdict"), min_score: given.number("min_score"), name: given.text("name"), sort: given.text("sort") ?? "order", descending: given.flag("descending"), ...page });
    }
  }

  private async table(given: Arguments): Promise<unknown> {
    const [step, rank] = [given.number("step") ?? 0, given.number("rank") ?? 0];
    const scope = given.text("scope") ?? "pair";
    const isAsked = (place: { step: number; rank: number }): boolean => scope === "all" || (place.rank === rank && (scope === "rank" || place.step === step));
    const searched = this.data.places.filter(([at_, of]) => isAsked({ step: at_, rank: of })).length;
    const wish = { q: given.text("q") ?? "", sort: given.text("sort") ?? "order", descending: given.flag("descending"), offset: given.number("offset") ?? 0, limit: given.number("limit") ?? 200 };
    const found = await tableOf(this.pairs.filter(isAsked), this.pair(step, rank), this.data.threshold, wish);
    return { ...found, searched, pairs: searched };
  }

  private async ofNode(node: number, rest: NodeRest, given: Arguments): Promise<string> {
    for (const pair of this.pairs) {
      const place = (await pair.placeOf()).get(node);
      if (place === undefined) continue;
      if (rest === "path") return JSON.stringify(await pathOf(pair, place));
      if (rest === "children") return JSON.stringify(await childrenOf(pair, place, given.number("offset") ?? 0, given.number("limit") ?? 500));
      const whole: WholeAnswer | "shards" = rest === undefined ? "answer" : rest === "shards" ? rest : `answer/${rest}`;
      if (whole !== "shards" && pair.has(whole)) return unrefused(await pair.line(whole, place));
      switch (rest) {
        case "trace":
          return JSON.stringify(await tracedWay(this.pairs, pair, place));
        case "flow":
          return JSON.stringify(await flowOf(pair, place));
        case "across":
          return JSON.stringify(await acrossOf(this.pairs, this.data.places, pair, place));
        case "shards":
          return pair.has("shards") ? unrefused(await pair.line("shards", (await factsOf(pair, place)).values)) : '{"values":[]}';
        default:
          return JSON.stringify(await detailsOf(pair, place));
      }
    }
    throw notHere(`node ${node}`);
  }
}

/** A text that was written ahead, where it is no refusal. */
function unrefused(text: string): string {
  if (!text.startsWith('{"refused":')) return text;
  const { refused } = JSON.parse(text) as { refused: { status: number; body: Refused["body"] } };
  throw new Refused(refused.status, refused.body);
}

/** From the root down to a node. */
async function pathOf(pair: Pair, place: number): Promise<Path> {
  const { parent } = await pair.nodes();
  const places: number[] = [];
  for (let up = place; up >= 0; up = at(parent, up)) places.push(up);
  return { path: await pair.nodesAt(places.reverse()) };
}

async function childrenOf(pair: Pair, place: number, offset: number, limit: number): Promise<unknown> {
  const { parent } = await pair.nodes();
  const own = await pair.node(place);
  const below = [...parent.keys()].filter((one) => parent[one] === place).slice(offset, offset + limit);
  return { parent: own.id, total: own.children, offset, children: await pair.nodesAt(below) };
}

/** The arguments of an address; what is empty was left out. */
class Arguments {
  constructor(private readonly given: URLSearchParams) {}

  text(name: string): string | null {
    const text = this.given.get(name);
    return text === "" ? null : text;
  }

  number(name: string): number | null {
    const text = this.text(name);
    return text === null ? null : Number(text);
  }

  numbers(name: string): number[] {
    return (this.text(name) ?? "").split(".").filter(Boolean).map(Number);
  }

  flag(name: string): boolean {
    return ["1", "true"].includes(this.text(name) ?? "");
  }
}
