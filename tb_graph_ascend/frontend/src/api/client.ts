/* Requests to the server, typed by the messages of types.ts. Addresses are relative to the page,
 * so they hold standalone, inside TensorBoard and behind a path prefix alike. */

import type {
  Across,
  Answer,
  Build,
  BuildRequest,
  BuildWish,
  Builds,
  Children,
  Database,
  Databases,
  DivergentShares,
  Dumps,
  Failure,
  Flow,
  MappedPair,
  MappingResult,
  Mappings,
  NodeDetails,
  NodeList,
  NodeShards,
  NodeTable,
  NodeTokens,
  SharedWeight,
  SharedWeights,
  NonfiniteStarts,
  ModuleGraph,
  PairGraphs,
  PairSet,
  Path,
  Picture,
  Proposals,
  RankStrip,
  Refusal,
  SearchHits,
  Side,
  PlacedTrace,
} from "./types";
import { forgetPairSet, pairsHeader } from "./sessionpairs";

/** A request that failed: what was asked, what the server said, what to do next. */
export class RequestError extends Error {
  constructor(
    message: string,
    readonly hint: string | null,
    readonly status: number,
    readonly url: string,
    readonly reason: Refusal | null = null,
  ) {
    super(message);
    this.name = "RequestError";
  }
}

type Argument = string | number | boolean | null | undefined;

/** The address of a resource, with arguments that are set. */
export function address(path: string, query: Record<string, Argument> = {}): string {
  const url = new URL(`api/${path}`, document.baseURI);
  for (const [key, value] of Object.entries(query)) {
    if (value === null || value === undefined || value === "") continue;
    url.searchParams.set(key, typeof value === "boolean" ? (value ? "1" : "0") : String(value));
  }
  return url.href;
}

type Answerer = (url: string, init: RequestInit) => Promise<Response>;

const byServer: Answerer = (url, init) => fetch(url, init);
let answerer = byServer;

/** Whether a server answers; a page that carries its result has no dumps and saves nothing. */
export function isServed(): boolean {
  return answerer === byServer;
}

/** Have requests answered by something else than a server: a page that carries its result does. */
export function answerBy(other: Answerer): void {
  answerer = other;
}

async function send(url: string, init: RequestInit = {}): Promise<Response> {
  const response = await sendOnce(url, init);
  if (response.status !== SENT_BEFORE) return response;
  // The server was started anew and does not know the session's pairs any more.
  const db = databaseOf(url);
  if (db !== null) forgetPairSet(db);
  return sendOnce(url, init);
}

async function sendOnce(url: string, init: RequestInit): Promise<Response> {
  const all = new Headers(init.headers);
  const name = pairsName(url);
  if (name !== null) all.set("X-Manual-Pairs", await name);
  try {
    return await answerer(url, { credentials: "same-origin", ...init, headers: all });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new RequestError("unreachable", null, 0, url);
  }
}

/** Fetch a file that the server makes, to be handed to the person. */
async function requestFile(url: string): Promise<Blob> {
  const response = await send(url);
  if (!response.ok) throw failure(response, await response.json().catch(() => null));
  return response.blob();
}

/** Send a request and read its JSON; everything that goes wrong becomes a RequestError. */
export async function request<Answer>(url: string, init: RequestInit = {}): Promise<Answer> {
  const response = await send(url, init);
  const body: unknown = await response.json().catch(() => null);
  if (!response.ok) throw failure(response, body);
  return body as Answer;
}

const DATABASE = /\/databases\/([^/?]+)/;

/** Precondition failed: what the request names has to be sent first. */
const SENT_BEFORE = 412;

function databaseOf(url: string): string | null {
  const db = DATABASE.exec(url)?.[1];
  return db === undefined ? null : decodeURIComponent(db);
}

/** The name under which the server knows a session's pairs; null where there are none. */
function pairsName(url: string): Promise<string> | null {
  const db = databaseOf(url);
  return db === null ? null : pairsHeader(db, keepPairSet);
}

async function keepPairSet(pairs: MappedPair[]): Promise<string> {
  return (await request<PairSet>(address("pair-sets"), mutation("POST", { pairs }))).id;
}

function failure(response: Response, body: unknown): RequestError {
  const told = isFailure(body) ? body : { error: response.statusText, hint: null };
  return new RequestError(told.error, told.hint, response.status, response.url, told.reason ?? null);
}

function isFailure(body: unknown): body is Failure {
  return typeof body === "object" && body !== null && "error" in body;
}

function mutation(method: "POST" | "PUT" | "PATCH" | "DELETE", body: unknown): RequestInit {
  return { method, headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
}

function database(db: string): string {
  return `databases/${encodeURIComponent(db)}`;
}

function pair(db: string, step: number, rank: number): string {
  return `${database(db)}/pairs/${step}/${rank}`;
}

export interface SearchQuery {
  q: string;
  regex: boolean;
  case?: boolean;
  side?: Side | null;
  offset?: number;
  limit?: number;
}

/** Two node ids to be mapped, with what lies below them, in this pair or in all steps and ranks. */
export interface MappingWish {
  problem: number;
  benchmark: number;
  descendants: boolean;
  everywhere: boolean;
  /** Each is the first of a run of repeats: they are paired in order. */
  folds: boolean;
}

export type NodeQuery = Record<string, Argument>;

/** Where a query of the nodes table is asked: one step and rank, all steps of a rank, everywhere. */
export type Scope = "pair" | "rank" | "all";

export interface TableQuery {
  step: number;
  rank: number;
  q: string;
  scope: Scope;
  sort: "order" | "score" | "introduced" | "name";
  descending: boolean;
}

/** Whole tables, and the report, as files; `form` is csv, json or html. */
export const files = {
  report: (db: string) => requestFile(address(`${database(db)}/export/report.html`)),
  pairs: (db: string, form: string) => requestFile(address(`${database(db)}/export/pairs.${form}`)),
  findings: (db: string, form: string) =>
    requestFile(address(`${database(db)}/export/findings.${form}`)),
  nodes: (db: string, query: TableQuery, form: string) =>
    requestFile(address(`${database(db)}/export/nodes.${form}`, { ...query })),
  values: (db: string, node: number, form: string) =>
    requestFile(address(`${database(db)}/nodes/${node}/export/values.${form}`)),
  compare: (db: string, step: number, rank: number, form: string) =>
    requestFile(address(`${pair(db, step, rank)}/export/compare.${form}`)),
  slide: (db: string, lang: string, reason: string, cause?: number, also = "") =>
    requestFile(address(`${database(db)}/export/slide.svg`, { lang, reason: reason.slice(0, 600), cause, also: also.slice(0, 200) })),
  across: (db: string, node: number, form: string) =>
    requestFile(address(`${database(db)}/nodes/${node}/export/across.${form}`)),
};

/** One function per resource. */
export const api = {
  databases: () => request<Databases>(address("databases")),
  database: (db: string) => request<Database>(address(database(db))),
  answer: (db: string) => request<Answer>(address(`${database(db)}/answer`)),
  ranks: (db: string) => request<RankStrip>(address(`${database(db)}/ranks`)),
  table: (db: string, query: TableQuery, offset: number, limit: number, signal?: AbortSignal) =>
    request<NodeTable>(
      address(`${database(db)}/nodes`, { ...query, offset, limit }),
      signal ? { signal } : {},
    ),
  buildWish: (db: string) => request<BuildWish>(address(`${database(db)}/build`)),
  shares: (db: string, step: number, rank: number) =>
    request<DivergentShares>(address(`${pair(db, step, rank)}/shares`)),
  divergent: (db: string, step: number, rank: number, query: { cause?: string; earlier?: boolean; perhaps?: boolean; offset: number; limit: number }) =>
    request<NodeList>(address(`${pair(db, step, rank)}/divergent`, query)),
  weights: (db: string, step: number, rank: number, query: { part?: string; relation?: SharedWeight["relation"]; offset: number; limit: number }) =>
    request<SharedWeights>(address(`${pair(db, step, rank)}/weights`, query)),
  nonfinite: (db: string, step: number, rank: number) =>
    request<NonfiniteStarts>(address(`${pair(db, step, rank)}/nonfinite`)),
  proposals: (db: string, step: number, rank: number) =>
    request<Proposals>(address(`${pair(db, step, rank)}/proposals`)),
  boxes: (db: string, step: number, rank: number, module: number, open: readonly number[]) =>
    request<ModuleGraph>(address(`${pair(db, step, rank)}/graph`, { module, open: open.join(".") })),
  mapAll: (db: string, step: number, rank: number) =>
    request<MappingResult>(address(`${pair(db, step, rank)}/proposals`), mutation("POST", {})),
  changeMappings: (db: string, add: MappedPair[], remove: MappedPair[]) =>
    request<MappingResult>(address(`${database(db)}/mappings`), mutation("PATCH", { add, remove })),
  pair: (db: string, step: number, rank: number) =>
    request<PairGraphs>(address(pair(db, step, rank))),
  children: (db: string, node: number, offset: number, limit: number) =>
    request<Children>(address(`${database(db)}/nodes/${node}/children`, { offset, limit })),
  path: (db: string, node: number) =>
    request<Path>(address(`${database(db)}/nodes/${node}/path`)),
  details: (db: string, node: number) =>
    request<NodeDetails>(address(`${database(db)}/nodes/${node}`)),
  flow: (db: string, node: number) => request<Flow>(address(`${database(db)}/nodes/${node}/flow`)),
  trace: (db: string, node: number) => request<PlacedTrace>(address(`${database(db)}/nodes/${node}/trace`)),
  search: (db: string, step: number, rank: number, query: SearchQuery, signal?: AbortSignal) =>
    request<SearchHits>(
      address(`${pair(db, step, rank)}/search`, { ...query }),
      signal ? { signal } : {},
    ),
  nodes: (db: string, step: number, rank: number, query: NodeQuery) =>
    request<NodeList>(address(`${pair(db, step, rank)}/nodes`, query)),
  mappings: (db: string) => request<Mappings>(address(`${database(db)}/mappings`)),
  map: (db: string, wish: MappingWish) =>
    request<MappingResult>(address(`${database(db)}/mappings`), mutation("POST", wish)),
  unmap: (db: string, problem: number) =>
    request<MappingResult>(address(`${database(db)}/mappings`), mutation("DELETE", { problem })),
  across: (db: string, node: number) =>
    request<Across>(address(`${database(db)}/nodes/${node}/across`)),
  shards: (db: string, node: number) =>
    request<NodeShards>(address(`${database(db)}/nodes/${node}/shards`)),
  tokens: (db: string, node: number) =>
    request<NodeTokens>(address(`${database(db)}/nodes/${node}/tokens`)),
  picture: (db: string, node: number, value: number) =>
    request<Picture>(address(`${database(db)}/nodes/${node}/values/${value}/picture`)),
  dumps: () => request<Dumps>(address("dumps")),
  builds: () => request<Builds>(address("builds")),
  build: (job: string) => request<Build>(address(`builds/${encodeURIComponent(job)}`)),
  startBuild: (wish: BuildRequest) => request<Build>(address("builds"), mutation("POST", wish)),
  cancelBuild: (job: string) =>
    request<Build>(address(`builds/${encodeURIComponent(job)}`), mutation("DELETE", {})),
  replaceMappings: (db: string, pairs: MappedPair[]) =>
    request<MappingResult>(address(`${database(db)}/mappings`), mutation("PUT", { pairs })),
};
