/* Keys count from the moment they are pressed, even while the first rows are on their way. */
import { describe, expect, it, vi } from "vitest";

import type { Answer, Node, PairGraphs } from "../../src/api/types";
import { node } from "../sample";
import { windowOf } from "../rows";

const asked = vi.hoisted(() => [] as { open: string; answer: (body: unknown) => void }[]);

vi.mock("../../src/api/rows", () => ({
  fetchRows: (_place: unknown, { open }: { open: string }) =>
    new Promise((answer) => asked.push({ open, answer })),
  fetchProfile: () => Promise.resolve(null),
}));

const layout = vi.hoisted(() => ({ setLists: vi.fn() }));
vi.mock("../../src/state/layout", () => ({ useLayout: { getState: () => layout } }));

const { answerQuery, queryClient } = await import("../../src/api/queries");
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
    expect(runShortcut("e", [], false)).toBe(true);
    expect(session.diff.open).toBe("4a");
    expect(asked.map(({ open }) => open)).toEqual(["", "4a"]);
    asked[0]?.answer(windowOf([]));
    expect(session.diff.open).toBe("4a");
  });
});

describe("G", () => {
  const press = (root: Partial<Node>) => {
    const session = sessionOf(root);
    useApp.getState().set({ db: "db", session, selected: 4, notice: null });
    runShortcut("g", [], false);
    return [session.diff.way, useApp.getState().notice];
  };
  it("says where no way leads to, and draws one to what carries the difference", () => {
    const places = [{ step: 0, rank: 0, node: 7 }];
    queryClient.setQueryData(answerQuery("db").queryKey, { causes: [{ places }], threshold: 0.25 } as Answer);
    expect(press({ match: 9, score: 0 })).toEqual([null, "noWayHere"]);
    expect(press({ match: 9, score: 0.1, source: 7 })).toEqual([{ cause: 7, target: 4 }, null]);
    expect(press({ match: 9, divergent_below: 1 })).toEqual([{ cause: 7, target: 4 }, null]);
    places[0] = { step: 0, rank: 0, node: 4 };
    expect(press({ match: 9, score: 0.9 })).toEqual([null, "wayBegins"]);
  });
});

describe("the number of a list", () => {
  it("shows it, also where it is chosen but put away", () => {
    useApp.getState().set({ leftTab: "causes" });
    expect(runShortcut("1", [], false)).toBe(true);
    expect(layout.setLists).toHaveBeenLastCalledWith(true);
    expect(runShortcut("4", [], false)).toBe(true);
    expect(useApp.getState().leftTab).toBe("overflow");
  });
});
