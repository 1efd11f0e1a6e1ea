/* What the person asked for is never overtaken by what the page opens by itself, nor Back by a switch under way. */
import { beforeEach, describe, expect, it, vi } from "vitest";

import type { DatabaseEntry } from "../../src/api/types";

const calls = vi.hoisted(() => ({ openDatabase: vi.fn(), selectNode: vi.fn(), leave: vi.fn() }));
vi.mock("../../src/state/actions", () => calls);

const { start, travelTo } = await import("../../src/state/travel");
const { useAhead } = await import("../../src/state/ahead");
const { useApp } = await import("../../src/state/store");
const { useBoxes } = await import("../../src/state/boxes");
const { fromQuery } = await import("../../src/state/url");

const entry = (id: string, error: string | null = null) => ({ id, error }) as DatabaseEntry;

beforeEach(() => {
  Object.values(calls).forEach((call) => call.mockReset());
  useAhead.setState({ arriving: null, coming: { step: 1, rank: 0 } });
  useApp.setState({ db: null, busy: false });
});

describe("the start of the page", () => {
  it("opens the file of the link, else the newest that can be opened", () => {
    expect(start(fromQuery("db=b"), [entry("a"), entry("b")])).toBe(true);
    expect(start(fromQuery(""), [entry("c", "cut"), entry("a")])).toBe(true);
    expect(calls.openDatabase.mock.calls.map(([db]) => db as string)).toEqual(["b", "a"]);
  });

  it("waits while there is nothing to open", () => {
    expect(start(fromQuery(""), [entry("c", "cut")])).toBe(false);
    expect(calls.openDatabase).not.toHaveBeenCalled();
  });

  it("opens nothing in the place of what was asked for before the list was there", () => {
    useApp.setState({ busy: true });
    expect(start(fromQuery(""), [entry("a")])).toBe(true);
    useApp.setState({ busy: false, db: "built" });
    expect(start(fromQuery(""), [entry("a")])).toBe(true);
    expect(calls.openDatabase).not.toHaveBeenCalled();
  });
});

describe("Back", () => {
  beforeEach(() => useApp.setState({ db: "a" }));

  it("selects in the step that is shown", async () => {
    await travelTo(fromQuery("db=a&step=1&rank=0&node=7&graph=3"));
    expect(calls.selectNode).toHaveBeenCalledWith(7);
    expect(useBoxes.getState().module).toBe(3);
  });

  it("returns to the step that is shown while another is on its way", async () => {
    useAhead.setState({ coming: { step: 2, rank: 0 } });
    await travelTo(fromQuery("db=a&step=1&rank=0&node=7"));
    expect(calls.openDatabase.mock.calls[0]?.[0]).toBe("a");
  });

  it("returns to the file that is shown while another is on its way", async () => {
    useAhead.setState({ arriving: { db: "b", done: Promise.resolve() } });
    await travelTo(fromQuery("db=a&step=1&rank=0&node=7"));
    expect(calls.openDatabase.mock.calls[0]?.[0]).toBe("a");
    expect(calls.selectNode).not.toHaveBeenCalled();
  });

  it("pressed twice leaves the graph of the last place, however long the way to the first was", async () => {
    let first = (): void => undefined;
    calls.selectNode.mockReturnValueOnce(new Promise<void>((done) => (first = done)));
    const slow = travelTo(fromQuery("db=a&step=1&rank=0&node=7&graph=3"));
    await travelTo(fromQuery("db=a&step=1&rank=0&node=9&graph=5"));
    first();
    await slow;
    expect(useBoxes.getState().module).toBe(5);
  });
});

describe("a link to no file that is here", () => {
  const token = (path: string) => Buffer.from(path).toString("base64url");
  it.each([
    [token("0/t14/compare.vis.db"), "t14/compare.vis.db"],
    [token("1/日志/a.vis.db"), "日志/a.vis.db"],
    ["t08", "t08"],
    ["abcd", "abcd"],
    [token("no number/a.vis.db"), token("no number/a.vis.db")],
    ["%", "%"],
  ])("names the file of a token, and else what was given: %s", (db, name) => {
    expect(start({ ...fromQuery(""), db }, [entry("a")])).toBe(true);
    expect(calls.leave).toHaveBeenCalledWith({ db: null, gone: { what: "database", name } });
  });
});
