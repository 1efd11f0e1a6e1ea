/* The ramp: lighter means nearer, always, for every kind of eye. */
import { describe, expect, it } from "vitest";

import { inkOn, lightness, luminance, rampRgb } from "../../src/graph/ramp";

const SCORES = Array.from({ length: 101 }, (_, index) => index / 100);

describe("ramp", () => {
  it("falls steadily in lightness", () => {
    for (const [index, score] of SCORES.entries()) {
      if (index === 0) continue;
      expect(lightness(score)).toBeLessThan(lightness(score - 0.01));
    }
  });

  it("falls steadily in luminance as shown, which no colour-vision deficiency changes", () => {
    const seen = SCORES.map((score) => luminance(rampRgb(score)));
    seen.slice(1).forEach((value, index) => expect(value).toBeLessThanOrEqual(seen[index] ?? 0));
    expect(seen[0]).toBeGreaterThan(0.85);
    expect(seen[100]).toBeLessThan(0.06);
  });

  it("stays red", () => {
    for (const score of SCORES.slice(5)) {
      const [red, green, blue] = rampRgb(score);
      expect(red).toBeGreaterThan(green);
      expect(red).toBeGreaterThan(blue);
    }
  });

  it("writes with a contrast of at least 4.5 on every fill", () => {
    for (const score of SCORES) {
      const ink = inkOn(score) === "#ffffff" ? 1 : 0;
      expect(contrast(ink, luminance(rampRgb(score)))).toBeGreaterThanOrEqual(4.5);
    }
  });

  it("clips what lies outside 0 … 1", () => {
    expect(rampRgb(-1)).toEqual(rampRgb(0));
    expect(rampRgb(2)).toEqual(rampRgb(1));
  });
});

function contrast(a: number, b: number): number {
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
}
