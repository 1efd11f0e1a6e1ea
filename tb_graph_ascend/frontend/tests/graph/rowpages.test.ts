import { describe, expect, it } from "vitest";

import { PAGE, RowPages } from "../../src/graph/rowpages";
import { row, windowOf } from "../rows";

function pages(): RowPages {
  const found = new RowPages();
  const rows = Array.from({ length: PAGE }, (_, index) => row({ key: index + 1, depth: index === 0 ? 0 : 1 + (index % 3) }));
  found.add(windowOf(rows, { total: 250 }));
  return found;
}

describe("what is known of the flow", () => {
  const edge = (exact: boolean) => ({ producer: 0, consumer: exact ? 1 : 2, lane: 0, exact });

  it.each([
    ["none", []],
    ["exact", [edge(true)]],
    ["inferred", [edge(false)]],
    ["both", [edge(true), edge(false)]],
  ] as const)("is %s", (known, rails) => {
    const pages = new RowPages();
    pages.add(windowOf([row()], { rails: [...rails] }));
    expect(pages.flowKnown()).toBe(known);
  });
});

describe("pages of rows", () => {
  it("are let go far from what is in view, and missing then", () => {
    const found = new RowPages();
    const total = 1000 * PAGE;
    for (let page = 0; page < 1000; page += 1) found.add(windowOf([row({ key: page })], { offset: page * PAGE, total }));
    const kept = [...found.loaded()].map(({ key }) => key);
    expect(kept.length).toBeLessThan(200);
    expect(kept).toContain(999);
    expect(found.missing(0, 10)).toEqual([0]);
    expect(found.missing(999 * PAGE, total)).toEqual([]);
  });

  it("know what is missing of a range", () => {
    expect(pages().missing(0, 99)).toEqual([]);
    expect(pages().missing(90, 160)).toEqual([1]);
    expect(pages().missing(0, 10_000)).toEqual([1, 2]);
    expect(new RowPages().missing(0, 10)).toEqual([0]);
  });

  it("find a node of either side in its own row, never in a fold", () => {
    const found = pages();
    expect(found.find(5)).toBe(4);
    expect(found.find(1005)).toBe(4);
    expect(found.find(7777)).toBe(-1);
    found.add(windowOf([row({ key: 500, fold: 3 })], { offset: PAGE, total: 250 }));
    expect(found.find(500)).toBe(-1);
  });

  it("know the row that stands for a node, its own or the closed one around it", () => {
    const found = new RowPages();
    found.add(windowOf([row({ key: 10 }), row({ key: 20, fold: 3 }), row({ key: 40, benchmark: null })]));
    expect(found.standingFor({ id: 10, side: "problem" })).toBe(0);
    expect(found.standingFor({ id: 31, side: "problem" })).toBe(1);
    expect(found.standingFor({ id: 40, side: "problem" })).toBe(2);
    expect(found.standingFor({ id: 1025, side: "benchmark" })).toBe(1);
    expect(found.standingFor({ id: 3, side: "problem" })).toBe(-1);
  });

  it("name the rows above one, across pages, the outermost first", () => {
    const found = pages();
    expect(found.above(5).map(({ row: { depth } }) => depth)).toEqual([0, 1, 2].slice(0, found.at(5)?.depth));
    const top = row({ key: 900, depth: 0, open: true });
    const inner = row({ key: 901, depth: 1, open: true });
    const rows = [row({ key: 950, depth: 2 }), row({ key: 951, depth: 2 })];
    const above = [
      { place: 3, row: top },
      { place: 40, row: inner },
    ];
    found.add(windowOf(rows, { offset: PAGE, total: 250, above }));
    expect(found.above(PAGE + 1)).toEqual(above);
  });

  it("give each rail once, however many pages it passes", () => {
    const found = pages();
    const edge = { producer: 10, consumer: 150, lane: 2, exact: true };
    found.add(windowOf([], { total: 250, rails: [edge] }));
    found.add(windowOf([], { offset: PAGE, total: 250, rails: [edge] }));
    expect(found.rails(0, 249)).toEqual([edge]);
    expect(found.rails(151, 249)).toEqual([]);
    expect(found.rails(150, 150)).toEqual([edge]);
  });
});
