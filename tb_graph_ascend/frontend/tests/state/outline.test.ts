/* The tree of modules: pages come once, answers to an older state are dropped, keys lead. */
import fc from "fast-check";
import { beforeEach, describe, expect, it, vi } from "vitest";

import type { OutlineRow, OutlineWindow } from "../../src/api/types";
import type { OutlineQuery } from "../../src/api/outline";

interface Asked {
  query: OutlineQuery;
  answer: (window: OutlineWindow) => void;
  fail: (error: Error) => void;
}

const server = vi.hoisted(() => ({ asked: [] as Asked[] }));

vi.mock("../../src/api/outline", () => ({
  fetchOutline: (_place: unknown, query: OutlineQuery) =>
    new Promise<OutlineWindow>((answer, fail) => server.asked.push({ query, answer, fail })),
}));

const { OutlineView } = await import("../../src/state/outline");

beforeEach(() => {
  server.asked = [];
});

function row(entry: number, part: Partial<OutlineRow> = {}): OutlineRow {
  const counts = { nodes: 1, divergent: 0, alone: 0, position: 0, siblings: 1 };
  return {
    entry, node: entry + 1000, title: `m${entry}`, type_name: "Cls", other: "", depth: 0, above: null,
    children: 0, open: false, begins: false, worst: null, ...counts, ...part,
  };
}

function windowOf(rows: OutlineRow[], part: Partial<OutlineWindow> = {}): OutlineWindow {
  return { total: rows.length, offset: 0, rows, modules: rows.length, divergent: 1, outside: 0, here: null, found: null, ...part };
}

const settle = () => new Promise((next) => setTimeout(next, 0));
const view = () => new OutlineView({ db: "d", step: 0, rank: 0 });
const offsets = () => server.asked.map(({ query }) => query.offset);

/** Three modules, the second open with the third in it. */
const THREE = [row(0), row(1, { children: 1, open: true }), row(2, { depth: 1, above: 1 })];

async function shown(rows = THREE): Promise<InstanceType<typeof OutlineView>> {
  const outline = view();
  outline.want(0, 10);
  server.asked[0]?.answer(windowOf(rows));
  await settle();
  return outline;
}

describe("pages of the outline", () => {
  it("are asked for once each, however often they come into view", () => {
    const outline = view();
    outline.want(0, 20);
    outline.want(90, 210);
    outline.want(0, 210);
    expect(offsets()).toEqual([0, 100, 200]);
  });

  it("of an older openness are dropped", async () => {
    const outline = await shown();
    outline.want(100, 110);
    void outline.toggle(THREE[1] ?? row(1));
    const [, late, anew] = server.asked;
    expect(anew?.query).toMatchObject({ toggled: "1", offset: 0 });
    anew?.answer(windowOf([row(0), row(1, { children: 1 })]));
    late?.answer(windowOf([row(7)], { total: 500, offset: 100 }));
    await settle();
    expect([outline.total, outline.at(1)?.open, outline.at(100)]).toEqual([2, false, undefined]);
  });

  it("say what failed until they are asked for again", async () => {
    const outline = view();
    outline.want(0, 0);
    server.asked[0]?.fail(new Error("gone"));
    await settle();
    expect(outline.error).toEqual(new Error("gone"));
    outline.retry();
    server.asked[1]?.answer(windowOf(THREE));
    await settle();
    expect([outline.error, outline.total]).toEqual([null, 3]);
  });

  it("are not asked for by a change of the pair while nobody looks", async () => {
    await view().refresh();
    expect(server.asked).toEqual([]);
    const outline = await shown();
    void outline.refresh();
    expect(server.asked).toHaveLength(2);
  });
});

describe("what is open", () => {
  it("toggles apart for all modules and for those that differ", async () => {
    const outline = await shown();
    void outline.toggle(THREE[1] ?? row(1));
    void outline.filter(true);
    expect(server.asked.at(-1)?.query).toMatchObject({ toggled: "", divergent: true });
    void outline.filter(false);
    expect(server.asked.at(-1)?.query).toMatchObject({ toggled: "1", divergent: false });
    void outline.toggle(THREE[1] ?? row(1));
    expect(server.asked.at(-1)?.query.toggled).toBe("");
  });

  it("stays so in another step, and leaves alone what holds nothing", async () => {
    const outline = await shown();
    await outline.toggle(THREE[0] ?? row(0));
    expect(server.asked).toHaveLength(1);
    void outline.toggle(THREE[1] ?? row(1));
    const other = view();
    other.adopt(outline);
    other.want(0, 0);
    expect(server.asked.at(-1)?.query.toggled).toBe("1");
  });
});

describe("keys", () => {
  it.each([
    ["ArrowDown", 0, 1],
    ["ArrowUp", 0, 0],
    ["End", 0, 2],
    ["PageDown", 0, 2],
    ["Home", 2, 0],
    ["ArrowRight", 1, 2],
    ["ArrowLeft", 2, 1],
    ["ArrowLeft", 0, 0],
  ])("%s goes from row %i to row %i", async (key, from, to) => {
    const outline = await shown();
    outline.moveTo(from);
    expect(outline.key(key)).toBe(true);
    expect(outline.cursor).toBe(to);
  });

  it("close what is open and open what is closed", async () => {
    const outline = await shown();
    outline.moveTo(1);
    outline.key("ArrowLeft");
    expect(server.asked.at(-1)?.query.toggled).toBe("1");
    expect(outline.key("x")).toBe(false);
  });

  it("never leave the list, nor ask for rows before its first, even before it is there", () => {
    const keys = ["ArrowDown", "ArrowUp", "PageDown", "PageUp", "Home", "End", "ArrowLeft", "ArrowRight"];
    return fc.assert(
      fc.asyncProperty(fc.array(fc.constantFrom(...keys)), fc.array(fc.constantFrom(...keys)), async (before, after) => {
        server.asked = [];
        const outline = view();
        before.forEach((key) => outline.key(key));
        outline.want(0, 2);
        server.asked[0]?.answer(windowOf([row(0), row(1), row(2)]));
        await settle();
        after.forEach((key) => outline.key(key));
        expect(outline.cursor >= 0 && outline.cursor < 3).toBe(true);
        expect(offsets().every((offset) => offset === 0)).toBe(true);
      }),
      { numRuns: 40 },
    );
  });
});

describe("the module of the selected node", () => {
  it("takes the keys there", async () => {
    const outline = await shown();
    void outline.look(7);
    server.asked.at(-1)?.answer(windowOf([], { here: 2 }));
    await settle();
    expect([outline.here, outline.cursor]).toEqual([2, 2]);
  });

  it("leaves the keys where the person moved them meanwhile", async () => {
    const outline = await shown();
    void outline.look(7);
    outline.key("Home");
    server.asked.at(-1)?.answer(windowOf([], { here: 2 }));
    await settle();
    expect([outline.here, outline.cursor]).toEqual([2, 0]);
  });

  it("is that of the node selected last", async () => {
    const outline = await shown();
    void outline.look(7);
    void outline.look(8);
    server.asked[2]?.answer(windowOf([], { here: 1 }));
    server.asked[1]?.answer(windowOf([], { here: 2 }));
    await settle();
    expect(outline.here).toBe(1);
  });
});

describe("letters", () => {
  it("go to the row that the server finds, unless the list changed", async () => {
    const outline = await shown();
    void outline.find("m2", 0);
    expect(server.asked.at(-1)?.query).toMatchObject({ prefix: "m2", after: 0 });
    server.asked.at(-1)?.answer(windowOf([], { found: 2 }));
    await settle();
    expect(outline.cursor).toBe(2);
    void outline.find("m0", 2);
    void outline.filter(true);
    server.asked.at(-2)?.answer(windowOf([], { found: 1 }));
    await settle();
    expect(outline.cursor).toBe(0);
  });
});
