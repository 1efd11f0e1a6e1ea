import fc from "fast-check";
import { describe, expect, it } from "vitest";

import type { DiffPalette } from "../../src/graph/scene";
import { paintProfile, rowOfShare, shareOfRow } from "../../src/graph/profilepaint";

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

/** A context that remembers its texts; each letter is 6 pixels wide. */
function listening(): { context: CanvasRenderingContext2D; texts: [string, number][] } {
  const texts: [string, number][] = [];
  const known: Record<string, unknown> = {
    fillText: (text: string, x: number) => void texts.push([text, x]),
    measureText: (text: string) => ({ width: text.length * 6 }),
  };
  const context = new Proxy(known, { get: (target, name: string) => target[name] ?? (() => undefined), set: () => true });
  return { context: context as unknown as CanvasRenderingContext2D, texts };
}

describe("the names of passes", () => {
  const starts = [["forward", 0], ["backward", 40], ["forward", 44], ["optimizer", 46]] as const;
  const phases = starts.map(([name, bin]) => ({ name, bin }));
  const profile = { rows: 100, worst: Array.from({ length: 100 }, () => null), causes: [], alone: [], phases, blocks: [] };
  const paint = (height: number): [string, number][] => {
    const { context, texts } = listening();
    paintProfile(context, { profile, width: 500, height, ratio: 1, palette: {} as DiffPalette, recolour: "score", phase: (name) => name });
    return texts;
  };

  it("stand in the pass that they name, or not at all", () => {
    expect(paint(52)).toEqual([["forward", 4], ["optimizer", 234]]);
  });

  it("are left out of a low strip", () => {
    expect(paint(18)).toEqual([]);
  });
});
