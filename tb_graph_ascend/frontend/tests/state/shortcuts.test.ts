/* Keys count from the moment they are pressed, even while the first rows are on their way. */
import { describe, expect, it, vi } from "vitest";

import type { Answer, Node, PairGraphs, PlacedTrace } from "../../src/api/types";
import { node } from "../sample";
import { windowOf } from "../rows";

const asked = vi.hoisted(() => [] as { open: string; answer: (body: unknown) => void }[]);

vi.mock("../../src/api/rows", () => ({
  fetchRows: (_place: unknown, { open }: { open: string }) =>
    new Promise((answer) => asked.push({ open, answer })),
  fetchProfile: () => Promise.resolve(null),
}));

const server = vi.hoisted((): { answer: Promise<unknown> } => ({ answer: Promise.resolve() }));
vi.mock("../../src/api/client", () => ({ RequestError: class extends Error {}, api: { answer: () => server.answer, trace: () => Promise.resolve({ hops: [] }) } }));

const layout = vi.hoisted(() => ({ setLists: vi.fn() }));
vi.mock("../../src/state/layout", () => ({ useLayout: { getState: () => layout } }));

const { answerQuery, queryClient, traceQuery } = await import("../../src/api/queries");
const { GraphSession } = await import("../../src/state/session");
const { runShortcut } = await import("../../src/state/shortcuts");
const { useApp } = await import("../../src/state/store");

/** A session of one graph, of which the root alone is known. */
function sessionOf(root: Partial<Node>) {
  const graph = { id: 1, side: "problem", nodes: 1, root: node({ id: 4, kind: "root", children: 1, ...root }) };
  const pair = { step: 0, rank: 0, status: "ok", error: null, problem: graph, benchmark: null };
  return new GraphSession("db", pair as unknown as PairGraphs);
}

describe("E", () => {
  it("opens all before the first row is there", () => {
    const session = sessionOf({});
    useApp.getState().set({ db: "db", session, selected: null });
    void session.diff.start();
    expect(runShortcut("e", false)).toBe(true);
    expect(session.diff.open).toBe("4a");
    expect(asked.map(({ open }) => open)).toEqual(["", "4a"]);
    asked[0]?.answer(windowOf([]));
    expect(session.diff.open).toBe("4a");
  });
});

describe("G", () => {
  const press = async (root: Partial<Node>) => {
    const session = sessionOf(root);
    useApp.getState().set({ db: "db", session, selected: 4, notice: null });
    runShortcut("g", false);
    await new Promise((done) => setTimeout(done));
    return [session.diff.way, useApp.getState().notice];
  };
  it("says where no way leads to, and draws one to what carries the difference", async () => {
    const places = [{ step: 0, rank: 0, node: 7 }];
    const nodes = [7];
    queryClient.setQueryData(answerQuery("db").queryKey, { causes: [{ places, nodes }], threshold: 0.25 } as Answer);
    expect(await press({ match: 9, score: 0 })).toEqual([null, "noWayHere"]);
    expect(await press({ match: 9, score: 0.1, source: 7 })).toEqual([{ cause: 7, target: 4 }, null]);
    expect(await press({ match: 9, divergent_below: 1 })).toEqual([{ cause: 7, target: 4 }, null]);
    places[0] = { step: 0, rank: 0, node: 4 };
    nodes[0] = 4;
    expect(await press({ match: 9, score: 0.9 })).toEqual([null, "wayBegins"]);
  });

  it("leads to what reads a weight of the step before, where the way goes on there", async () => {
    queryClient.setQueryData(answerQuery("db").queryKey, { causes: [{ places: [{ step: 0, rank: 0, node: 7 }], nodes: [7] }], threshold: 0.25 } as Answer);
    const hops = [{ node: 4, step: null }, { node: 6, step: null }, { node: 2, step: 3 }];
    queryClient.setQueryData(traceQuery("db", 4).queryKey, { hops } as PlacedTrace);
    expect(await press({ match: 9, score: 0.9 })).toEqual([{ cause: 6, target: 4 }, { code: "wayEarlier", facts: { step: 3 } }]);
  });

  it("says nothing before the causes are known, and draws the way then", async () => {
    queryClient.removeQueries();
    let tell: (answer: unknown) => void = () => undefined;
    server.answer = new Promise((done) => (tell = done));
    expect(await press({ match: 9, divergent_below: 1 })).toEqual([null, null]);
    tell({ causes: [{ places: [{ step: 0, rank: 0, node: 7 }], nodes: [7] }], threshold: 0.25 });
    await new Promise((done) => setTimeout(done));
    expect(useApp.getState().session?.diff.way).toEqual({ cause: 7, target: 4 });
  });
});

describe("the number of a list", () => {
  it("shows it, also where it is chosen but put away", () => {
    useApp.getState().set({ leftTab: "causes" });
    expect(runShortcut("1", false)).toBe(true);
    expect(layout.setLists).toHaveBeenLastCalledWith(true);
    expect(runShortcut("4", false)).toBe(true);
    expect(useApp.getState().leftTab).toBe("overflow");
  });
});
