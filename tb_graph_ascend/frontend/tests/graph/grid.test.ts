import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { MAX_ROW, MIN_ROW, Scroll, columnsOf, laneX, rowsIn, textSize, yOf } from "../../src/graph/grid";

const WIDTH = fc.integer({ min: 420, max: 2600 });
const SHAPE = fc.record({ comparison: fc.boolean(), folded: fc.boolean() });

describe("columns", () => {
  it("fill the width without a gap or an overlap", () => {
    fc.assert(
      fc.property(WIDTH, SHAPE, (width, shape) => {
        const { rails, problem, gutter, benchmark } = columnsOf(width, shape);
        expect(rails.x).toBe(0);
        expect(problem.x).toBe(rails.width);
        expect(gutter.x).toBe(problem.x + problem.width);
        expect(benchmark.x).toBe(gutter.x + gutter.width);
        expect(benchmark.x + benchmark.width).toBe(width);
        expect(gutter.width > 0).toBe(shape.comparison);
        expect(benchmark.width > 0).toBe(shape.comparison && !shape.folded);
      }),
    );
  });

  it("hold the gutter's parts and the lanes inside", () => {
    fc.assert(
      fc.property(WIDTH, fc.integer({ min: 0, max: 12 }), (width, lane) => {
        const columns = columnsOf(width, { comparison: true, folded: false });
        const { gutter, input, output, worst, word, rails } = columns;
        expect(input.x).toBeGreaterThan(gutter.x);
        expect(output.x).toBe(input.x + input.width);
        expect(worst.x).toBe(output.x + output.width);
        expect(word.x).toBeGreaterThanOrEqual(worst.x + worst.width);
        expect(word.x + word.width).toBeLessThanOrEqual(gutter.x + gutter.width);
        expect(laneX(columns, lane)).toBeGreaterThan(0);
        expect(laneX(columns, lane)).toBeLessThan(rails.width);
        expect(laneX(columns, lane + 1)).toBeLessThanOrEqual(laneX(columns, lane));
      }),
    );
  });
});

describe("rows", () => {
  it("in view are those that a row's place says", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 1e6 }), fc.integer({ min: 0, max: 3000 }), fc.integer({ min: 3, max: 40 }), (top, height, rowHeight) => {
        const total = 50_000;
        const [first, last] = rowsIn(top, height, rowHeight, total);
        expect(first).toBeLessThanOrEqual(last);
        if (first === last) return;
        expect(yOf({ rowHeight, top }, first)).toBeLessThanOrEqual(0);
        expect(yOf({ rowHeight, top }, last - 1)).toBeLessThanOrEqual(height);
      }),
    );
  });

  it("scroll to either end, however many there are", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 60_000_000 }), fc.integer({ min: 50, max: 2000 }), (content, view) => {
        const scroll = new Scroll(content, view);
        const most = Math.max(0, content - view);
        expect(scroll.height).toBeLessThanOrEqual(12_000_000);
        expect(scroll.toContent(0)).toBe(0);
        expect(scroll.toContent(scroll.height - view)).toBeCloseTo(most, 3);
        expect(scroll.toContent(scroll.fromContent(most / 2))).toBeCloseTo(most / 2, 3);
      }),
    );
  });
});

describe("the size of a text", () => {
  it("never grows beyond its row or the largest, and has few steps", () => {
    const heights = fc.double({ min: MIN_ROW, max: MAX_ROW, noNaN: true });
    fc.assert(
      fc.property(heights, (height) => {
        const size = textSize(height, 0.62, 12.5);
        expect(size).toBeLessThanOrEqual(Math.min(12.5, height * 0.62));
        expect(size === 12.5 || Number.isInteger(size)).toBe(true);
      }),
    );
  });
});
