/* What is shown is always of the step and rank in the header: late and failed answers change nothing. */
import { beforeEach, describe, expect, it, vi } from "vitest";

import type { Children, Graph, Node, PairGraphs } from "../../src/api/types";
import type { DiffPane } from "../../src/state/diffview";
import { node } from "../sample";

interface Waiting {
  step: number;
  rank: number;
  answer: (pair: PairGraphs) => void;
  fail: (error: Error) => void;
}

const server = vi.hoisted(() => ({
  waiting: [] as Waiting[],
  /** Holds back the answer to where a node is. */
  held: Promise.resolve(),
  causes: [] as { finding: { step: number; rank: number; node: { id: number } }; places: { step: number; rank: number; node: number }[] }[],
  /** The answer to where a name is. */
  lookedUp: () => Promise.resolve({ hits: [{ id: 9 }], total: 1 }),
  /** Holds back the answer to what a file is, and where it begins. */
  told: Promise.resolve(),
  pairs: [1, 2, 3].map((step) => ({ step, rank: 0, status: "ok" })),
}));

vi.mock("../../src/api/client", () => ({
  RequestError: class extends Error {},
  api: {
    pair: (_db: string, step: number, rank: number) =>
      new Promise<PairGraphs>((answer, fail) => server.waiting.push({ step, rank, answer, fail })),
    children: (_db: string, parent: number, offset: number): Promise<Children> =>
      Promise.resolve({ parent, total: 0, offset, children: [] }),
    search: () => server.lookedUp(),
    rows: () => new Promise(() => undefined),
    path: (_db: string, id: number) => server.held.then(() => ({ path: WAYS[id] ?? [] })),
  },
}));
vi.mock("../../src/state/prepare", () => ({ prepareSearchSoon: vi.fn() }));
vi.mock("../../src/api/rows", () => ({
  fetchRows: () => Promise.resolve({ total: 0, offset: 0, rows: [], above: [], rails: [], bins: [], found: null, opened: "" }),
  fetchProfile: () => Promise.resolve(null),
}));
vi.mock("../../src/api/queries", () => ({
  queryClient: { query: () => server.told.then(() => ({ causes: server.causes, pairs: server.pairs })) },
  answerQuery: vi.fn(),
  databaseQuery: vi.fn(),
}));

const { goTo, openDatabase, openPair, pickNode, selectNode, startHere, stepCause } = await import("../../src/state/actions");
const { nodeAhead } = await import("../../src/state/ahead");
const { withSelection } = await import("../../src/state/underway");
const { GraphSession } = await import("../../src/state/session");
const { useApp } = await import("../../src/state/store");

const WAYS: Record<number, Node[]> = { 7: [root(1), child(7)], 9: [root(1), child(7), leaf(9)], 5: [root(1), child(7), leaf(5)] };

function root(id: number): Node {
  return node({ id, kind: "root", children: 1 });
}

function child(id: number): Node {
  return node({ id, parent: 1, depth: 1, children: 1 });
}

function leaf(id: number): Node {
  return node({ id, parent: 7, depth: 2 });
}

function pairOf(step: number, rank = 0): PairGraphs {
  const graph = { id: 1, side: "problem", nodes: 1, root: root(1) } as unknown as Graph;
  return { step, rank, status: "ok", error: null, problem: graph, benchmark: null, only: null, folder: null };
}

/** All that follows from answers that are there has happened. */
function settle(): Promise<void> {
  return new Promise((done) => setTimeout(done));
}

/** Hold answers back; the returned function lets them go. */
function hold(what: "held" | "told" = "held"): () => void {
  let release = (): void => undefined;
  server[what] = new Promise((done) => (release = done));
  return release;
}

function request(step: number): Waiting {
  const found = server.waiting.find((one) => one.step === step);
  if (!found) throw new Error(`step ${step} was not asked for`);
  return found;
}

const CAUSES = [
  { finding: { step: 1, rank: 0, node: { id: 7 } }, places: [{ step: 1, rank: 0, node: 7 }] },
  { finding: { step: 2, rank: 0, node: { id: 9 } }, places: [{ step: 2, rank: 0, node: 9 }] },
];

beforeEach(() => {
  server.causes = CAUSES;
  server.lookedUp = () => Promise.resolve({ hits: [{ id: 9 }], total: 1 });
  server.told = Promise.resolve();
  vi.stubGlobal("document", { activeElement: null });
  server.waiting = [];
  server.held = Promise.resolve();
  useApp.getState().set({ db: "db", step: null, rank: null, session: null, selected: null, failure: null });
});

/** Causes on rank 0 and on rank 1 of the pair that is open, with nothing left to be answered. */
async function causesOfTwoRanks(): Promise<void> {
  const done = openPair(1, 0);
  request(1).answer(pairOf(1));
  await done;
  const places = [0, 1].map((rank) => ({ step: 1, rank, node: rank === 0 ? 9 : 5 }));
  server.waiting = [];
  server.causes = [{ places }] as unknown as typeof server.causes;
}

describe("a database", () => {
  async function opened(step: number, how?: Parameters<typeof openDatabase>[2]): Promise<unknown> {
    const done = openDatabase("other", undefined, how);
    await settle();
    request(step).answer(pairOf(step));
    await done;
    const { db, step: shown, selected } = useApp.getState();
    return { db, step: shown, selected };
  }

  it("opens where it begins", async () => {
    expect(await opened(1)).toEqual({ db: "other", step: 1, selected: 7 });
  });

  it("opens at the cell that is meant, on what begins there", async () => {
    expect(await opened(2, { at: { step: 2, rank: 0 } })).toEqual({ db: "other", step: 2, selected: 9 });
  });

  it("opens at a cell where nothing begins with nothing selected", async () => {
    expect(await opened(3, { at: { step: 3, rank: 0 } })).toEqual({ db: "other", step: 3, selected: null });
  });

  it("opens at the cell alike while it is opening where it begins", async () => {
    const first = openDatabase("other");
    expect(await opened(2, { at: { step: 2, rank: 0 } })).toEqual({ db: "other", step: 2, selected: 9 });
    await settle();
    server.waiting.forEach((one) => one.answer(pairOf(one.step)));
    await first;
    expect(useApp.getState()).toMatchObject({ step: 2, selected: 9 });
  });
});

describe("a switch of step", () => {
  it("shows header and rows together, once the answer is there", async () => {
    const done = openPair(3, 0);
    expect(useApp.getState()).toMatchObject({ step: null, session: null, busy: true });
    request(3).answer(pairOf(3));
    await done;
    const { step, session, busy } = useApp.getState();
    expect([step, session?.pair.step, busy]).toEqual([3, 3, false]);
  });

  it("is not undone by the late answer to an earlier one", async () => {
    const first = openPair(1, 0);
    const second = openPair(2, 0);
    request(2).answer(pairOf(2));
    await second;
    request(1).answer(pairOf(1));
    await first;
    await settle();
    const { step, session } = useApp.getState();
    expect([step, session?.pair.step]).toEqual([2, 2]);
  });

  it("that fails leaves what was there, says so, and can be tried again", async () => {
    const before = openPair(1, 0);
    request(1).answer(pairOf(1));
    await before;
    const failed = openPair(2, 0);
    request(2).fail(new Error("gone"));
    await failed;
    const { step, session, failure, busy } = useApp.getState();
    expect([step, session?.pair.step, busy]).toEqual([1, 1, false]);
    expect(failure?.error).toEqual(new Error("gone"));
    server.waiting = [];
    failure?.retry();
    request(2).answer(pairOf(2));
    await settle();
    expect(useApp.getState().step).toBe(2);
  });

  it("comes about where the selected row cannot be looked up: nothing is selected, and that is said", async () => {
    const first = openPair(1, 0, { select: 9 });
    request(1).answer(pairOf(1));
    await first;
    server.lookedUp = () => Promise.reject(new Error("the search is broken"));
    const next = openPair(2, 0);
    request(2).answer(pairOf(2));
    await next;
    expect(useApp.getState()).toMatchObject({ step: 2, selected: null, failure: null, notice: "selectionLost" });
  });

  it("without a database asks for nothing", async () => {
    useApp.getState().set({ db: null });
    await openPair(1, 0);
    expect(server.waiting).toEqual([]);
  });
});

describe("a selection", () => {
  it("of a node that this pair does not have selects nothing", async () => {
    const done = openPair(1, 0);
    request(1).answer(pairOf(1));
    await done;
    await selectNode(99);
    expect(useApp.getState().selected).toBeNull();
  });

  it("asked for last stays, however much longer the way of an earlier one was", async () => {
    const done = openPair(1, 0);
    // Both wait for the pair; "start here" asks for the causes besides.
    const first = startHere();
    const last = selectNode(9);
    request(1).answer(pairOf(1));
    await Promise.all([done, first, last]);
    expect(useApp.getState().selected).toBe(9);
  });

  it("of a cause takes the focus, but not from a control that was gone to meanwhile", async () => {
    const done = openPair(1, 0);
    request(1).answer(pairOf(1));
    await done;
    const focus = vi.fn();
    const session = useApp.getState().session;
    if (session) session.diff.pane = { focus, show: vi.fn() } as unknown as DiffPane;
    await startHere();
    expect(focus).toHaveBeenCalledTimes(1);
    const second = startHere();
    vi.stubGlobal("document", { activeElement: "the search box" });
    await second;
    expect(focus).toHaveBeenCalledTimes(1);
  });

  it("counts from the step and rank under way, not from those still shown", async () => {
    const done = openPair(1, 0);
    request(1).answer(pairOf(1));
    await done;
    server.waiting = [];
    void goTo({ step: 1, rank: 1, node: 9 });
    const back = goTo({ step: 1, rank: 0, node: 9 });
    expect(server.waiting.map(({ rank }) => rank)).toEqual([1, 0]);
    for (const { rank, answer } of [...server.waiting].reverse()) answer(pairOf(1, rank));
    await back;
    await settle();
    const { rank, selected, busy } = useApp.getState();
    expect([rank, selected, busy]).toEqual([0, 9, false]);
  });

  it("is carried over by name, however fast one goes from step to step", async () => {
    const done = openPair(1, 0);
    request(1).answer(pairOf(1));
    await done;
    await selectNode(9);
    const release = hold();
    void openPair(2, 0);
    request(2).answer(pairOf(2));
    await settle();
    expect([useApp.getState().step, useApp.getState().selected]).toEqual([2, null]);
    const last = openPair(3, 0);
    request(3).answer(pairOf(3));
    release();
    await last;
    expect([useApp.getState().step, useApp.getState().selected]).toEqual([3, 9]);
  });

  it("steps through causes of several ranks as fast as the key is pressed", async () => {
    await causesOfTwoRanks();
    for (const direction of [1, 1, -1, 1, 1] as const) void stepCause(direction);
    await settle();
    for (const { rank, answer } of server.waiting) answer(pairOf(1, rank));
    await settle();
    const last = server.waiting.at(-1)?.rank ?? 0;
    expect([useApp.getState().rank, useApp.getState().selected]).toEqual([last, last === 0 ? 9 : 5]);
    expect(last).toBe(0);
  });

  it("goes on from the place asked for last, also when an earlier way there has just ended", async () => {
    await causesOfTwoRanks();
    // To the first place, to the second and back to the first: the way there is asked for twice.
    for (const direction of [1, -1, 1] as const) void stepCause(direction);
    await settle();
    server.waiting[0]?.answer(pairOf(1, 1));
    await settle();
    void stepCause(1);
    await settle();
    for (const { rank, answer } of server.waiting) answer(pairOf(1, rank));
    await settle();
    expect([useApp.getState().rank, useApp.getState().selected]).toEqual([1, 5]);
  });

  it("by key waits for the causes, and for the file that is on its way", async () => {
    const release = hold("told");
    const opens = openDatabase("other");
    const steps = stepCause(1);
    release();
    await settle();
    request(1).answer(pairOf(1));
    await opens;
    await settle();
    // The file opens on the first cause; the key goes on to the second.
    request(2).answer(pairOf(2));
    await steps;
    expect(useApp.getState()).toMatchObject({ db: "other", step: 2, selected: 9 });
  });

  it("is ahead while it is on its way: keys go on from it, and what is done with it waits", async () => {
    const done = openPair(1, 0);
    request(1).answer(pairOf(1));
    await done;
    const seen: (number | null)[] = [];
    const note = (): void => void seen.push(useApp.getState().selected);
    withSelection(note);
    const release = hold();
    const selects = selectNode(9);
    expect([nodeAhead(), useApp.getState().selected]).toEqual([9, null]);
    withSelection(note);
    expect(seen).toEqual([null]);
    release();
    await selects;
    await settle();
    expect([nodeAhead(), ...seen]).toEqual([9, null, 9]);
  });

  it("keeps one pick a side for a mapping", () => {
    pickNode(child(7));
    pickNode(node({ id: 8, side: "benchmark" }));
    pickNode(child(9));
    const { picks, leftTab } = useApp.getState();
    expect([picks.problem?.id, picks.benchmark?.id, leftTab]).toEqual([9, 8, "mapping"]);
  });
});

describe("a session", () => {
  it("fetches the way to a node that is not known and tells its listeners once", async () => {
    const session = new GraphSession("db", pairOf(0));
    const heard = vi.fn();
    session.subscribe(heard);
    const found = await session.load(9);
    expect(found?.id).toBe(9);
    expect(session.ancestors(leaf(9)).map(({ id }) => id)).toEqual([1, 7]);
    await session.load(9);
    expect(heard).toHaveBeenCalledTimes(1);
  });

  it("takes no node of another graph in", async () => {
    const session = new GraphSession("db", { ...pairOf(0), problem: { ...pairOf(0).problem, root: node({ id: 1, graph: 2 }) } as Graph });
    expect(await session.load(9)).toBeUndefined();
  });

  it("takes over what a mapping changed of the nodes that it knows, and no others", async () => {
    const session = new GraphSession("db", pairOf(0));
    await session.load(9);
    session.update([{ ...leaf(9), match: 12 }, leaf(5)]);
    expect([session.get(9)?.match, session.get(5)]).toEqual([12, undefined]);
  });
});
