/* Keys count from the moment they are pressed, even while the first rows are on their way. */
import { describe, expect, it, vi } from "vitest";

import type { PairGraphs } from "../../src/api/types";
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

const { GraphSession } = await import("../../src/state/session");
const { runShortcut } = await import("../../src/state/shortcuts");
const { useApp } = await import("../../src/state/store");

describe("E", () => {
  it("opens all before the first row is there", () => {
    const graph = { id: 1, side: "problem", nodes: 1, root: node({ id: 4, kind: "root", children: 1 }) };
    const pair = { step: 0, rank: 0, status: "ok", error: null, problem: graph, benchmark: null };
    const session = new GraphSession("db", pair as unknown as PairGraphs);
    useApp.getState().set({ db: "db", session, selected: null });
    void session.diff.start();
    expect(runShortcut("e", [], false)).toBe(true);
    expect(session.diff.open).toBe("4a");
    expect(asked.map(({ open }) => open)).toEqual(["", "4a"]);
    asked[0]?.answer(windowOf([]));
    expect(session.diff.open).toBe("4a");
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
