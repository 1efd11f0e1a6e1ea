/* Undo takes back one's own change only, in its database, in order; a failure shows no old answer. */
import { beforeEach, describe, expect, it, vi } from "vitest";

import type { MappedPair, MappingResult } from "../../src/api/types";
import type { GraphSession } from "../../src/state/session";

interface FakeServer {
  pairs: Record<string, MappedPair[]>;
  failing: boolean;
  slow: Promise<void>;
}

/** A server with one mapping a database, which others change too. */
const server = vi.hoisted((): FakeServer => ({ pairs: {}, failing: false, slow: Promise.resolve() }));

function answer(db: string, next: MappedPair[]): MappingResult {
  const before = server.pairs[db] ?? [];
  server.pairs[db] = next;
  return {
    mappings: { saved: true, file: "x.mapping.json", pairs: next, changed: next.length },
    nodes: [],
    refused: [],
    added: next.filter((one) => !before.includes(one)),
    removed: before.filter((one) => !next.includes(one)),
  };
}

vi.mock("../../src/api/client", () => ({
  RequestError: class extends Error {
    constructor(
      readonly status: number,
    ) {
      super(`status ${status}`);
    }
  },
  api: {
    changeMappings: async (db: string, add: MappedPair[], remove: MappedPair[]) => {
      await server.slow;
      const before = server.pairs[db] ?? [];
      if (server.failing) throw new RequestError(0);
      if (remove.some((one) => !before.includes(one))) throw new RequestError(409);
      return answer(db, [...before.filter((one) => !remove.includes(one)), ...add]);
    },
    replaceMappings: (db: string, pairs: MappedPair[]) => Promise.resolve(answer(db, pairs)),
  },
}));
vi.mock("../../src/api/queries", () => ({
  queryClient: { setQueryData: () => undefined },
  refreshDatabase: () => Promise.resolve(),
}));
vi.mock("../../src/state/actions", async () => {
  const { useApp } = await import("../../src/state/store");
  return {
    guarded: async (retry: () => void, step: () => Promise<unknown>) => {
      try {
        await step();
      } catch (error) {
        useApp.getState().set({ failure: { error, retry } });
      }
    },
  };
});

const { RequestError } = (await import("../../src/api/client")) as unknown as { RequestError: new (status: number) => Error };
const { addMappings, historyOf, measuredPairs, redoMapping, removeAllMappings, undoMapping, useMappingHistory, useMappingWork } = await import("../../src/state/mapping");
const { switched, useAhead } = await import("../../src/state/ahead");
const { useApp } = await import("../../src/state/store");

const pair = (problem: string): MappedPair => ({ step: null, rank: null, problem, benchmark: `b.${problem}`, descendants: true });
const names = (db: string): string[] => (server.pairs[db] ?? []).map(({ problem }) => problem);

beforeEach(() => {
  server.pairs = {};
  server.failing = false;
  useMappingHistory.setState({}, true);
  useApp.setState({ db: "one", failure: null });
});

describe("undo", () => {
  it("puts all pairs in again that were taken out at once, and says which it did", async () => {
    await addMappings([pair("a")]);
    await addMappings([pair("b")]);
    await removeAllMappings(server.pairs.one ?? []);
    expect(names("one")).toEqual([]);
    expect(historyOf(useMappingHistory.getState(), "one").act).toBe("unmade");
    await undoMapping();
    expect(names("one")).toEqual(["a", "b"]);
  });

  it("leaves what somebody else mapped since", async () => {
    await addMappings([pair("mine")]);
    server.pairs.one = [...(server.pairs.one ?? []), pair("theirs")];
    await undoMapping();
    expect(names("one")).toEqual(["theirs"]);
    await redoMapping();
    expect(names("one")).toEqual(["theirs", "mine"]);
  });

  it("is of the database it was done in", async () => {
    await addMappings([pair("first")]);
    useApp.setState({ db: "two" });
    await undoMapping();
    expect(names("one")).toEqual(["first"]);
    await addMappings([pair("second")]);
    await undoMapping();
    expect([names("one"), names("two")]).toEqual([["first"], []]);
    useApp.setState({ db: "one" });
    await undoMapping();
    expect(names("one")).toEqual([]);
  });

  it("says that it takes back, not that something was mapped", async () => {
    const act = () => historyOf(useMappingHistory.getState(), "one").act;
    await addMappings([pair("mine")]);
    expect(act()).toBe("made");
    await undoMapping();
    expect(act()).toBe("undo");
    expect(useApp.getState().notice).toEqual({ code: "undone", facts: { count: 0 } });
    await redoMapping();
    expect(act()).toBe("redo");
    expect(useApp.getState().notice).toEqual({ code: "redone", facts: { count: 0 } });
  });

  it("pressed while a change is on its way undoes that change", async () => {
    let arrive: () => void = () => undefined;
    server.slow = new Promise((next) => (arrive = next));
    const change = addMappings([pair("mine")]);
    const undo = undoMapping();
    expect(useMappingWork.getState().pending).toBe(2);
    arrive();
    await Promise.all([change, undo]);
    expect(useMappingWork.getState().pending).toBe(0);
    expect(names("one")).toEqual([]);
  });

  it("says where it cannot take a change back, and forgets it", async () => {
    await addMappings([pair("mine")]);
    server.pairs.one = [pair("theirs")];
    await undoMapping();
    expect(useApp.getState().failure).not.toBeNull();
    expect(names("one")).toEqual(["theirs"]);
    expect(historyOf(useMappingHistory.getState(), "one").undo).toEqual([]);
  });
});

it("counts the pairs that were measured, not what stands above them", () => {
  const node = (side: string, match_reason: string | null) => ({ side, match_reason });
  const nodes = [node("problem", "manual"), node("benchmark", "manual"), node("problem", "name"), node("problem", null)];
  expect(measuredPairs({ nodes } as unknown as MappingResult)).toBe(1);
});

describe("a network that fails", () => {
  it("leaves the change to be taken back, and Retry takes it back", async () => {
    await addMappings([pair("mine")]);
    server.failing = true;
    await undoMapping();
    expect(historyOf(useMappingHistory.getState(), "one").undo).toHaveLength(1);
    server.failing = false;
    useApp.setState({ db: "two" });
    await (useApp.getState().failure?.retry as () => Promise<void>)();
    expect([names("one"), names("two")]).toEqual([[], []]);
    expect(historyOf(useMappingHistory.getState(), "one").undo).toHaveLength(0);
  });

  it("is no longer told once a later change succeeds; what failed otherwise stays", async () => {
    server.failing = true;
    await addMappings([pair("mine")]);
    expect(useApp.getState().failure).not.toBeNull();
    server.failing = false;
    await addMappings([pair("mine")]);
    expect(useApp.getState().failure).toBeNull();
    const other = { error: new Error("of a table"), retry: () => undefined };
    useApp.setState({ failure: other });
    await addMappings([pair("also")]);
    await undoMapping();
    expect(useApp.getState().failure).toBe(other);
  });

  it("is tried again in the file that the change was made for", async () => {
    server.failing = true;
    await addMappings([pair("mine")]);
    server.failing = false;
    useApp.setState({ db: "two" });
    await (useApp.getState().failure?.retry as () => Promise<void>)();
    expect([names("one"), names("two")]).toEqual([["mine"], []]);
  });
});

describe("changes that wait for their turn", () => {
  it("stay in the file that was shown when they were asked for", async () => {
    let arrive: () => void = () => undefined;
    server.slow = new Promise((next) => (arrive = next));
    const waiting = [addMappings([pair("first")]), addMappings([pair("second")]), undoMapping()];
    useApp.setState({ db: "two" });
    waiting.push(addMappings([pair("third")]));
    arrive();
    await Promise.all(waiting);
    expect([names("one"), names("two")]).toEqual([["first"], ["third"]]);
  });
});

describe("a failed change", () => {
  it("shows no result, not that of the change before, and cannot be undone", async () => {
    await addMappings([pair("mine")]);
    expect(historyOf(useMappingHistory.getState(), "one").result).not.toBeNull();
    server.failing = true;
    await addMappings([pair("other")]);
    const history = historyOf(useMappingHistory.getState(), "one");
    expect(history.result).toBeNull();
    expect(history.undo).toHaveLength(1);
    expect(useApp.getState().failure).not.toBeNull();
  });
});

describe("a change while a step is on its way", () => {
  it("is shown in that one too, which was asked for before", async () => {
    const session = () => ({ db: "one", update: vi.fn() });
    const [before, after] = [session(), session()];
    let come = (): void => undefined;
    useAhead.setState({ settled: new Promise((done) => (come = done)) });
    useApp.setState({ session: before as unknown as GraphSession });
    await addMappings([pair("mine")]);
    expect(before.update).toHaveBeenCalledTimes(1);
    useApp.setState({ session: after as unknown as GraphSession });
    come();
    await switched();
    await Promise.resolve();
    expect([before, after].map(({ update }) => update.mock.calls.length)).toEqual([1, 1]);
    useApp.setState({ session: null });
  });
});
