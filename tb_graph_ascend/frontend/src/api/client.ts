/* Requests to the server, typed by the messages of types.ts. Addresses are relative to the page,
 * so they hold standalone, inside TensorBoard and behind a path prefix alike. */

import type {
  Across,
  Build,
  BuildRequest,
  Children,
  Database,
  Databases,
  Dumps,
  Failure,
  Findings,
  MappedPair,
  MappingResult,
  Mappings,
  NodeDetails,
  NodeList,
  PairGraphs,
  Path,
  Picture,
  SearchHits,
  Side,
} from "./types";
import { pairsHeader } from "./sessionpairs";

/** A request that failed: what was asked, what the server said, what to do next. */
export class RequestError extends Error {
  constructor(
    message: string,
    readonly hint: string | null,
    readonly status: number,
    readonly url: string,
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

async function send(url: string, init: RequestInit = {}): Promise<Response> {
  try {
    return await fetch(url, { credentials: "same-origin", ...init, headers: headers(url, init) });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new RequestError("unreachable", null, 0, url);
  }
}

/** Fetch a file that the server makes, to be handed to the person. */
export async function requestFile(url: string): Promise<Blob> {
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

function headers(url: string, init: RequestInit): Headers {
  const all = new Headers(init.headers);
  const db = DATABASE.exec(url)?.[1];
  const pairs = db === undefined ? {} : pairsHeader(decodeURIComponent(db));
  for (const [name, value] of Object.entries(pairs)) all.set(name, value);
  return all;
}

function failure(response: Response, body: unknown): RequestError {
  const told = isFailure(body) ? body : { error: response.statusText, hint: null };
  return new RequestError(told.error, told.hint, response.status, response.url);
}

function isFailure(body: unknown): body is Failure {
  return typeof body === "object" && body !== null && "error" in body;
}

function mutation(method: "POST" | "PUT" | "DELETE", body: unknown): RequestInit {
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
}

export type NodeQuery = Record<string, Argument>;

/** Whole tables, and the report, as files; `form` is csv, json or html. */
export const files = {
  report: (db: string) => requestFile(address(`${database(db)}/export/report.html`)),
  pairs: (db: string, form: string) => requestFile(address(`${database(db)}/export/pairs.${form}`)),
  nodes: (db: string, step: number, rank: number, show: string, form: string) =>
    requestFile(address(`${pair(db, step, rank)}/export/nodes.${form}`, { show })),
  across: (db: string, node: number, form: string) =>
    requestFile(address(`${database(db)}/nodes/${node}/export/across.${form}`)),
};

/** One function per resource. */
export const api = {
  databases: () => request<Databases>(address("databases")),
  database: (db: string) => request<Database>(address(database(db))),
  pair: (db: string, step: number, rank: number) =>
    request<PairGraphs>(address(pair(db, step, rank))),
  children: (db: string, node: number, offset: number, limit: number) =>
    request<Children>(address(`${database(db)}/nodes/${node}/children`, { offset, limit })),
  path: (db: string, node: number) =>
    request<Path>(address(`${database(db)}/nodes/${node}/path`)),
  details: (db: string, node: number) =>
    request<NodeDetails>(address(`${database(db)}/nodes/${node}`)),
  findings: (db: string, step?: number, rank?: number) =>
    request<Findings>(address(`${database(db)}/findings`, { step, rank })),
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
  picture: (db: string, node: number, value: number) =>
    request<Picture>(address(`${database(db)}/nodes/${node}/values/${value}/picture`)),
  dumps: () => request<Dumps>(address("dumps")),
  builds: () => request<{ builds: Build[] }>(address("builds")),
  startBuild: (wish: BuildRequest) => request<Build>(address("builds"), mutation("POST", wish)),
  cancelBuild: (job: string) =>
    request<Build>(address(`builds/${encodeURIComponent(job)}`), mutation("DELETE", {})),
  replaceMappings: (db: string, pairs: MappedPair[]) =>
    request<MappingResult>(address(`${database(db)}/mappings`), mutation("PUT", { pairs })),
};
