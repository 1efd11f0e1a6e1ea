/* The list asks for what is in view, drops answers of an older openness, and keeps rows on failure. */

import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { type DiffPane, DiffView } from "../../src/state/diffview";
import { row, windowOf } from "../rows";

interface Asked {
  url: URL;
  answer: (body: unknown, ok?: boolean) => void;
}

let asked: Asked[];

beforeEach(() => {
  asked = [];
  vi.stubGlobal("document", { baseURI: "http://host/" });
  vi.stubGlobal("window", { sessionStorage: { getItem: () => null } });
  vi.stubGlobal(
    "fetch",
    (url: string) =>
      new Promise((resolve) => {
        const answer = (body: unknown, ok = true): void =>
          resolve({ ok, status: ok ? 200 : 500, url, statusText: "", json: () => Promise.resolve(body) });
        asked.push({ url: new URL(url), answer });
      }),
  );
});

afterEach(() => vi.unstubAllGlobals());

const settle = () => new Promise((next) => setTimeout(next, 0));
const rowsAsked = () => asked.filter(({ url }) => url.pathname.endsWith("/rows"));
const view = () => new DiffView({ db: "d", step: 0, rank: 0 });

async function started(): Promise<DiffView> {
  const diff = view();
  void diff.start();
  await settle();
  asked[0]?.answer(windowOf([row({ key: 1, depth: 0, children: 1, open: true }), row({ key: 2, children: 3 })]));
  await settle();
  return diff;
}

describe("the list of rows", () => {
  it("asks for each page once", async () => {
    const diff = await started();
    diff.want(0, 1);
    expect(rowsAsked()).toHaveLength(1);
    diff.pages.total = 1000;
    diff.want(190, 230);
    diff.want(190, 230);
    await settle();
    expect(rowsAsked().map(({ url }) => url.searchParams.get("offset"))).toEqual(["0", "100", "200"]);
  });

  it("asks again for a page that was let go", async () => {
    const diff = await started();
    for (const page of [2, 400, 2]) {
      diff.pages.total = 100_000;
      diff.want(page * 100 + 40, page * 100 + 45);
      await settle();
      rowsAsked().at(-1)?.answer(windowOf([row({ key: page })], { offset: page * 100, total: 100_000 }));
      await settle();
      if (page === 400) for (let at = 300; at < 500; at += 1) diff.pages.add(windowOf([], { offset: at * 100, total: 100_000 }));
    }
    const offsets = rowsAsked().map(({ url }) => url.searchParams.get("offset"));
    expect(offsets.filter((offset) => offset === "200")).toHaveLength(2);
  });

  it("shows the rows it has until those of the new openness are there", async () => {
    const diff = await started();
    const closed = diff.pages.at(1);
    if (closed) diff.toggle(closed);
    expect(diff.open).toBe("2");
    expect(diff.pages.at(1)).toBe(closed);
    await settle();
    rowsAsked()[1]?.answer(windowOf([row({ key: 1 }), row({ key: 2, open: true }), row({ key: 3 })]));
    await settle();
    expect(diff.pages.total).toBe(3);
  });

  it("drops an answer that was asked for before something was opened", async () => {
    const diff = await started();
    diff.pages.total = 500;
    diff.want(200, 240);
    await settle();
    const closed = diff.pages.at(1);
    if (closed) diff.toggle(closed);
    const late = rowsAsked().find(({ url }) => url.searchParams.get("offset") === "200");
    late?.answer(windowOf([row({ key: 77 })], { offset: 200, total: 500 }));
    await settle();
    expect(diff.pages.at(200)).toBeUndefined();
  });

  it("keeps its rows when a request fails, and asks again when told to", async () => {
    const diff = await started();
    const before = diff.pages.at(1);
    if (before) diff.toggle(before);
    await settle();
    rowsAsked()[1]?.answer({ error: "gone", hint: null }, false);
    await settle();
    expect(diff.error).not.toBeNull();
    expect(diff.pages.at(1)).toBe(before);
    diff.retry();
    await settle();
    expect(diff.error).toBeNull();
    expect(rowsAsked()).toHaveLength(3);
  });

  it("opens the way to a node, and goes to where it stands", async () => {
    const diff = await started();
    const shown: number[] = [];
    diff.attach({
      show: (place) => void shown.push(place),
      zoom: () => undefined,
      reset: () => undefined,
      scrollBy: () => undefined,
      top: () => 0,
      setTop: () => undefined,
      visibleRows: () => 10,
      focus: () => undefined,
    });
    const revealing = diff.reveal(55);
    await settle();
    const { url, answer } = rowsAsked()[1] ?? {};
    expect(url?.searchParams.get("reveal")).toBe("55");
    answer?.(windowOf([row({ key: 55 })], { offset: 100, total: 300, found: 100, opened: "2.9" }));
    await revealing;
    expect(shown).toEqual([100]);
    expect(diff.open).toBe("2.9");
    await diff.reveal(55);
    expect(rowsAsked()).toHaveLength(2);
  });

  it("keeps what was opened while the way to a node was asked for, and goes there all the same", async () => {
    const diff = await started();
    const shown: number[] = [];
    diff.attach({ show: (place: number) => void shown.push(place), top: () => 0 } as unknown as DiffPane);
    const revealing = diff.reveal(55);
    diff.openAll(1);
    await settle();
    const [, first, opened] = rowsAsked();
    expect([first, opened].map((one) => one?.url.searchParams.get("open"))).toEqual([null, "1a"]);
    first?.answer(windowOf([row({ key: 55 })], { total: 9, found: 0, opened: "2.9" }));
    await settle();
    expect([diff.open, shown]).toEqual(["1a", []]);
    opened?.answer(windowOf([row({ key: 1 }), row({ key: 2 })], { total: 300 }));
    await settle();
    const again = rowsAsked()[3];
    expect(again?.url.searchParams.get("open")).toBe("1a");
    expect(again?.url.searchParams.get("reveal")).toBe("55");
    again?.answer(windowOf([row({ key: 55 })], { offset: 100, total: 300, found: 100, opened: "1a" }));
    await revealing;
    expect([diff.open, diff.pages.total, shown]).toEqual(["1a", 300, [100]]);
  });

  it.each([
    ["is not there", windowOf([], { found: null }), true],
    ["was not answered", { error: "gone", hint: null }, false],
  ])("opens what was asked for before a node that %s", async (_, body, ok) => {
    const diff = await started();
    diff.openAll(1);
    const revealing = diff.reveal(55).catch(() => undefined);
    await settle();
    const [, opened, revealed] = rowsAsked();
    opened?.answer(windowOf([row({ key: 1 }), row({ key: 2 }), row({ key: 3 })]));
    revealed?.answer(body, ok);
    await revealing;
    await settle();
    expect([diff.open, diff.pages.total]).toEqual(["1a", 3]);
  });

  it("stays closed when it was closed while the way to a node was asked for", async () => {
    const diff = await started();
    const revealing = diff.reveal(55);
    diff.closeAll();
    await settle();
    const [, revealed, closed] = rowsAsked();
    closed?.answer(windowOf([row({ key: 1 }), row({ key: 2 })]));
    revealed?.answer(windowOf([row({ key: 55 })], { total: 9, found: 0, opened: "2.9" }));
    await revealing;
    expect([diff.open, diff.pages.total, rowsAsked().length]).toEqual(["", 2, 3]);
  });

  it("returns from a way to the row that was at the top before", async () => {
    const diff = await started();
    const tops: number[] = [];
    diff.attach({ top: () => tops.at(-1) ?? 142, setTop: (row: number) => void tops.push(row) } as unknown as DiffPane);
    diff.setWay({ cause: 1, target: 2 });
    await settle();
    rowsAsked()[1]?.answer(windowOf([row({ key: 1 })]));
    await settle();
    diff.setWay(null);
    await settle();
    expect(rowsAsked()[2]?.url.searchParams.get("offset")).toBe("100");
    rowsAsked()[2]?.answer(windowOf([row({ key: 1 })], { offset: 100, total: 300 }));
    await settle();
    expect(tops).toEqual([0, 142]);
  });
});
