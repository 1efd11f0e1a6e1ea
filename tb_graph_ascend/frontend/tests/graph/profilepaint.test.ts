import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { rowOfShare, shareOfRow } from "../../src/graph/profilepaint";

/** How many rows begin before each bin: never fewer than before. */
const BINS = fc
  .array(fc.integer({ min: 0, max: 50 }), { minLength: 1, maxLength: 60 })
  .map((steps) => steps.reduce<number[]>((sums, step) => [...sums, (sums[sums.length - 1] ?? 0) + step], [0]));

describe("the profile's places", () => {
  it("rise with the rows, and stay within the strip", () => {
    fc.assert(
      fc.property(BINS, (bins) => {
        const total = bins[bins.length - 1] ?? 0;
        const shares = Array.from({ length: total + 1 }, (_, index) => shareOfRow(index, bins));
        expect(shares.every((share) => share >= 0 && share <= 1)).toBe(true);
        expect(shares).toEqual([...shares].sort((a, b) => a - b));
      }),
    );
  });

  it("lead back to the row they came from", () => {
    fc.assert(
      fc.property(BINS, fc.double({ min: 0, max: 1, noNaN: true }), (bins, share) => {
        const there = rowOfShare(share, bins);
        const total = bins[bins.length - 1] ?? 0;
        expect(there).toBeGreaterThanOrEqual(0);
        expect(there).toBeLessThanOrEqual(total);
        expect(rowOfShare(shareOfRow(there, bins), bins)).toBeCloseTo(there, 6);
      }),
    );
    expect(shareOfRow(3, [])).toBe(0);
    expect(rowOfShare(0.5, [])).toBe(0);
  });
});
