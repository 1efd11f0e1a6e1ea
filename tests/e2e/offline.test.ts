/* A page that carries its result says what the server says: every question of the interface, of both. */
import { beforeAll, describe, expect, inject, it } from "vitest";

import type { Answer, Database, Databases, DiffRow, ModuleGraph, Node, OutlineWindow, RowWindow } from "../../tb_graph_ascend/frontend/src/api/types";
import { routerOf, writePage } from "./offlinepage";

/** One pair, ranks and steps, one graph, a port, an overflow, a pair of which little matches, joined ranks, msprobe's own file, a failed rank, two ways to one result. */
const RESULTS = ["scaled", "ranks", "causes", "single", "ported", "nan", "renamed", "joined", "foreign", "failed", "programs", "micro", "heals"];
const SECONDS = 120_000;

/** Asks both, and says where they differ. */
class Both {
  asked = 0;

  constructor(
    private readonly result: string,
    private readonly server: string,
    /** What both call the file: the page knows none but its own folder. */
    private readonly names: { server: string; page: string },
    private readonly page: (url: string) => Promise<Response>,
  ) {}

  /** The server's answer, which the page gave too; what a page cannot do is left out by `of`. */
  async get<T>(path: string, of: (answer: unknown) => unknown = (answer) => answer): Promise<T> {
    const { server, page } = this.names;
    const ask = (name: string): string => `${this.server}api/databases/${name}/${path}`.replace(/\/$/, "");
    const [told, written] = await Promise.all([fetch(ask(server)), this.page(ask(page))]);
    const [answer, other] = await Promise.all([bodyOf(told, `${this.result}/${this.result}`), bodyOf(written)]);
    this.asked += 1;
    expect([path, written.status], JSON.stringify(other).slice(0, 300)).toEqual([path, told.status]);
    expect(of(other), path).toEqual(of(answer));
    return answer as T;
  }
}

/** What a response says; a file is `shown` with the folder that the page does not know. */
async function bodyOf(response: Response, shown = ""): Promise<unknown> {
  const text = (await response.text()).replaceAll(`${shown}.vis.db `, `${shown.split("/").at(-1) ?? ""}.vis.db `);
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

describe.each(RESULTS)("the page of %s", (name) => {
  const { logdir, viewing } = inject("places");

  let made: ReturnType<typeof routerOf>;
  beforeAll(() => {
    made = routerOf(writePage(logdir, name));
  });

  async function opened(): Promise<{ both: Both; pairs: [number, number][]; threshold: boolean }> {
    const { router, data } = made;
    const { databases } = (await bodyOf(await fetch(`${viewing}api/databases`))) as Databases;
    const server = databases.find(({ path }) => path.endsWith(`${name}/${name}.vis.db`))?.id ?? "";
    const both = new Both(name, viewing, { server, page: data.db }, (url) => router.answer(url));
    return { both, pairs: data.pairs.map(({ step, rank }) => [step, rank]), threshold: data.threshold !== null };
  }

  it("answers as the server about the file and each step and rank", { timeout: SECONDS }, async () => {
    const { both, pairs } = await opened();
    await both.get("", (answer) => ({ ...(answer as Database), id: "", path: "" }));
    for (const rest of ["answer", "ranks", "mappings", "export/pairs.csv", "export/pairs.json", "export/findings.csv", "export/findings.json"]) {
      await both.get(rest);
    }
    for (const [step, rank] of pairs) {
      for (const rest of ["", "/profile", "/shares", "/nonfinite", "/proposals", "/weights?offset=0&limit=3", "/weights?part=attn&offset=0&limit=100"]) {
        await both.get(`pairs/${step}/${rank}${rest}`);
      }
    }
    expect(both.asked).toBeGreaterThan(8);
  });

  it("shows the same windows of rows, modules and pictures", { timeout: SECONDS }, async () => {
    const { both, pairs } = await opened();
    const { causes } = await both.get<Answer>(`answer`);
    for (const [step, rank] of pairs) {
      const pair = `pairs/${step}/${rank}`;
      const root = (await both.get<RowWindow>(`${pair}/rows?open=`)).rows[0];
      const all = await both.get<RowWindow>(`${pair}/rows?open=${root?.key ?? 0}a&limit=500`);
      for (const open of opennessOf(all.rows)) {
        await both.get(`${pair}/rows?open=${open}&limit=60`);
        await both.get(`${pair}/rows?open=${open}&limit=40&offset=20`);
      }
      for (const row of someOf(all.rows, 12)) {
        await both.get(`${pair}/rows?open=&reveal=${row.key}&limit=25`);
        const { above } = await both.get<ModuleGraph>(`${pair}/graph?module=${row.key}`);
        for (const module of [above ?? row.key, row.key]) await both.get(`${pair}/graph?module=${module}&open=${modulesOf(all.rows).join(".")}`);
        for (const cause of causes.slice(0, 2)) {
          await both.get(`${pair}/rows?open=${row.key}&cause=${cause.finding.node.id}&target=${row.key}&limit=80`);
        }
      }
      const here = await both.get<OutlineWindow>(`${pair}/outline?divergent=0`);
      const entries = here.rows.map(({ entry }) => entry);
      for (const toggled of ["", ...entries.slice(1, 4).map(String), entries.slice(0, 6).join(".")]) {
        for (const divergent of [0, 1]) {
          await both.get(`${pair}/outline?toggled=${toggled}&divergent=${divergent}&here=${all.rows.at(-1)?.key ?? 0}&prefix=l&after=1&limit=30`);
        }
      }
    }
  });

  it("lists and finds the same nodes", { timeout: SECONDS }, async () => {
    const { both, pairs, threshold } = await opened();
    for (const [step, rank] of pairs) {
      const pair = `pairs/${step}/${rank}`;
      for (const q of QUERIES) {
        for (const sort of ["order&descending=0", "score&descending=1", "introduced&descending=1", "name&descending=0"]) {
          await both.get(`nodes?step=${step}&rank=${rank}&scope=pair&sort=${sort}&offset=0&limit=40&q=${encodeURIComponent(q)}`);
        }
      }
      for (const scope of ["rank", "all"]) {
        await both.get(`nodes?step=${step}&rank=${rank}&scope=${scope}&sort=score&descending=1&offset=3&limit=30&q=linear`);
      }
      for (const q of ["linear", "LayerNorm", "relu.0", "gelu", ""]) {
        for (const how of ["regex=0", "regex=1", "regex=0&case=1", "regex=0&side=benchmark"]) {
          await both.get(`${pair}/search?q=${q}&${how}&offset=0&limit=30`);
        }
      }
      await both.get(`${pair}/search?q=${encodeURIComponent("^Module.*[13]\\.")}&regex=1&limit=50`);
      for (const filter of ["show=divergent&sort=score&descending=1", "show=overflow&sort=overflow", "show=unmatched&kind=api", "side=problem&direction=backward", "verdict=error&sort=introduced&descending=1", "min_score=0.2&name=linear&sort=name"]) {
        await both.get(`${pair}/nodes?${filter}&offset=0&limit=50`);
      }
      if (!threshold) continue;
      const { causes } = await both.get<{ causes: { node: number }[] }>(`${pair}/shares`);
      for (const of of ["", "perhaps=1", "earlier=1", ...causes.map(({ node }) => `cause=${node}`), `cause=${causes.map(({ node }) => node).join(".") || "0"}`]) {
        await both.get(`${pair}/divergent?${of}&offset=0&limit=50`);
      }
    }
  });

  it("knows the same of each node", { timeout: SECONDS }, async () => {
    const { both, pairs } = await opened();
    for (const [step, rank] of pairs) {
      const { hits } = await both.get<{ hits: Node[] }>(`pairs/${step}/${rank}/search?q=.&limit=2000`);
      expect(hits.length).toBeGreaterThan(0);
      for (const { id } of someOf(hits, 60)) {
        for (const rest of ["", "/path", "/flow", "/across", "/shards", "/trace", "/children?offset=0&limit=4"]) {
          await both.get(`nodes/${id}${rest}`);
        }
      }
    }
  });

  it("refuses what the server refuses", async () => {
    const { both, pairs } = await opened();
    const [step, rank] = pairs[0] ?? [0, 0];
    for (const q of ["/(/", "score>much", "colour:red", "kind:blue"]) {
      const reason = (answer: unknown): unknown => (answer as { reason: { code: string } }).reason.code;
      await both.get(`nodes?step=${step}&rank=${rank}&q=${encodeURIComponent(q)}`, reason);
    }
    await both.get(`nodes/999999999`, () => null);
  });
});

const QUERIES = ["", "linear", "backward score>0.1", "-linear kind:api", "unmatched", "divergent side:problem", "/l[ai].*0/", "linear #1", "#0 forward", "layers.1", "overflow", "overflow:critical", "verdict:error input<0.5", "kind:root", "lineer", "\"layer_norm\" matched", "introduced>=0.01", "direction:backward -matched", "softmaxx embeding", "zzz"];

/** So many, from all over a list. */
function someOf<T>(all: readonly T[], count: number): T[] {
  const step = Math.max(1, Math.floor(all.length / count));
  return all.filter((_, place) => place % step === 0).slice(0, count);
}

function modulesOf(rows: readonly DiffRow[]): number[] {
  return someOf(rows.filter(({ children }) => children > 0).map(({ key }) => key), 8);
}

/** What may be open: nothing, single modules, all of one, one closed in it, folds and unfolded runs. */
function opennessOf(rows: readonly DiffRow[]): string[] {
  const root = rows[0]?.key ?? 0;
  const modules = modulesOf(rows);
  return ["", ...modules.map(String), modules.join("."), `${root}a`, `${root}a.-${modules[2] ?? root}`, ...modules.map((key) => `${root}.${modules[1] ?? root}.f${key}`)];
}
