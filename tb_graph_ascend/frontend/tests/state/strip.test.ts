/* The strip of ranks: every step and rank has one cell, and arrows stay inside. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";

import type { RankStrip } from "../../src/api/types";
import { rangesText } from "../../src/state/ranges";
import { nextRow } from "../../src/state/rowcursor";
import { toggleTerm } from "../../src/state/queryterms";
import { earliestRow, moveInStrip, placeIn, rankAt } from "../../src/state/strip";

const strip: RankStrip = {
  steps: [0, 5, 9],
  onset: 5,
  rows: [
    { ranks: [0, 1, 2, 7], cells: [null, null, null], first: null, begins: null },
    { ranks: [3, 4], cells: [null, null, null], first: null, begins: null },
  ],
};

describe("strip", () => {
  it("rings the ranks that begin before all others, and none where several begin together", () => {
    const rows = (...begins: (number | null)[]): RankStrip => ({
      ...strip,
      rows: begins.map((share, rank) => ({ ranks: [rank], cells: [null, null, null], first: share === null ? null : 5, begins: share })),
    });
    expect(earliestRow(rows(0.58, 0.76))).toBe(0);
    expect(earliestRow(rows(0.58, 0.58))).toBe(-1);
    expect(earliestRow(rows(0.58))).toBe(-1);
    expect(earliestRow(rows(null, null))).toBe(-1);
  });

  it("finds the cell of a step and rank", () => {
    expect(placeIn(strip, 5, 7)).toEqual({ row: 0, column: 1 });
    expect(placeIn(strip, 9, 3)).toEqual({ row: 1, column: 2 });
    expect(placeIn(strip, 4, 3)).toBeNull();
    expect(placeIn(strip, null, 3)).toBeNull();
  });
  it("keeps the rank on screen where the row has it, else goes to the row's first", () => {
    expect(rankAt(strip, 0, 7)).toBe(7);
    expect(rankAt(strip, 1, 7)).toBe(3);
    expect(rankAt(strip, 5, 7)).toBeNull();
  });
  it("never leaves the grid", () => {
    const keys = fc.array(fc.constantFrom("ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End", "x"));
    fc.assert(
      fc.property(keys, (pressed) => {
        let at = { row: 0, column: 0 };
        for (const key of pressed) at = moveInStrip(strip, at, key) ?? at;
        expect(strip.rows[at.row]).toBeDefined();
        expect(strip.steps[at.column]).toBeDefined();
      }),
    );
  });
});

describe("rangesText", () => {
  it("joins neighbours and says where it stops", () => {
    expect(rangesText([17, 18, 40])).toBe("17–18, 40");
    expect(rangesText([0])).toBe("0");
    expect(rangesText([])).toBe("");
    expect(rangesText([0, 2, 4, 6, 8, 10, 12])).toBe("0, 2, 4, 6, 8, 10, …");
  });
  it("loses no number of a short list", () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.integer({ min: 0, max: 30 }), { maxLength: 6 }), (drawn) => {
        const numbers = drawn.sort((a, b) => a - b);
        const read = rangesText(numbers).split(", ").filter(Boolean).flatMap((range) => {
          const [from = 0, to = from] = range.split("–").map(Number);
          return Array.from({ length: to - from + 1 }, (_, at) => from + at);
        });
        expect(read).toEqual(numbers);
      }),
    );
  });
});

describe("rows of the table", () => {
  it("are stepped through around the end", () => {
    expect(nextRow(-1, 1, 3)).toBe(0);
    expect(nextRow(-1, -1, 3)).toBe(2);
    expect(nextRow(2, 1, 3)).toBe(0);
    expect(nextRow(0, 1, 0)).toBeNull();
  });
});

describe("toggleTerm", () => {
  it("adds a term once and takes it out again", () => {
    expect(toggleTerm("softmax", "unmatched")).toBe("softmax unmatched");
    expect(toggleTerm("softmax  unmatched score>0.5", "unmatched")).toBe("softmax score>0.5");
    expect(toggleTerm("", "backward")).toBe("backward");
  });
});
