/* Small lines: their range, their path, the column under a place, the keys of a grid. */
import { describe, expect, it } from "vitest";

import { columnAt, heightOf, moved, pathOf, rangeOf } from "../../src/graph/smalllines";

describe("the range", () => {
  it("spans all lines, in octaves where nothing is 0 or negative", () => {
    expect(rangeOf([[1, null, 4], [2]])).toEqual({ low: 1, high: 4, log: true });
    expect(rangeOf([[0, 4]])).toEqual({ low: 0, high: 4, log: false });
    expect(rangeOf([[-2, 4]])?.log).toBe(false);
  });

  it("is none where there is no number", () => {
    expect(rangeOf([[], [null]])).toBeNull();
  });

  it("puts a factor of two as high anywhere, and what never changes in the middle", () => {
    const range = { low: 1, high: 16, log: true };
    expect([1, 2, 4, 8, 16].map((value) => heightOf(value, range))).toEqual([0, 0.25, 0.5, 0.75, 1]);
    expect(heightOf(3, { low: 3, high: 3, log: true })).toBe(0.5);
    expect(heightOf(1, { low: -1, high: 3, log: false })).toBe(0.5);
  });
});

describe("the path", () => {
  const range = { low: 0, high: 10, log: false };

  it("goes from left to right, high values on top", () => {
    expect(pathOf([0, 10, 5], range)).toBe("M0 1L0.5 0L1 0.5");
  });

  it("is interrupted where nothing was measured, and a lone value is a dot", () => {
    expect(pathOf([0, null, 10, null, 5, 0], range)).toBe("M0 1L0 1M0.4 0L0.4 0M0.8 0.5L1 1");
  });

  it("is nothing without values", () => {
    expect(pathOf([], range)).toBe("");
    expect(pathOf([null, null], range)).toBe("");
  });
});

describe("a place", () => {
  it("means the nearest column, whatever lies beside", () => {
    expect([-1, 0, 0.49, 0.51, 1, 7].map((share) => columnAt(share, 3))).toEqual([0, 0, 1, 1, 2, 2]);
  });
});

describe("keys", () => {
  it("move in the grid and stop at its ends", () => {
    expect(moved("ArrowRight", 3, 4, 10)).toBe(4);
    expect(moved("ArrowDown", 3, 4, 10)).toBe(7);
    expect(moved("ArrowDown", 7, 4, 10)).toBe(7);
    expect(moved("ArrowUp", 2, 4, 10)).toBe(2);
    expect(moved("ArrowLeft", 0, 4, 10)).toBe(0);
    expect(moved("End", 0, 4, 10)).toBe(9);
    expect(moved("Home", 5, 4, 10)).toBe(0);
    expect(moved("x", 5, 4, 10)).toBeNull();
  });
});
