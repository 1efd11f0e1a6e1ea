/* The ramp: further from the ground means further apart, always, for every kind of eye. */
import { describe, expect, it } from "vitest";

import { inkOn, lightness, luminance, rampRgb } from "../../src/graph/ramp";

const SCORES = Array.from({ length: 101 }, (_, index) => index / 100);
/** The ground of rows in tokens.css. */
const GROUND = { light: [255, 255, 255], dark: [0x1a, 0x1e, 0x24] } as const;

describe.each(["light", "dark"] as const)("the ramp on a %s page", (theme) => {
  const away = theme === "light" ? -1 : 1;
  const ground = luminance(GROUND[theme]);

  it("goes steadily away from the ground in lightness", () => {
    for (const score of SCORES.slice(1)) {
      expect(away * lightness(score, theme)).toBeGreaterThan(away * lightness(score - 0.01, theme));
    }
  });

  it("and in luminance as shown, which no colour-vision deficiency changes", () => {
    const seen = SCORES.map((score) => away * luminance(rampRgb(score, theme)));
    seen.slice(1).forEach((value, index) => expect(value).toBeGreaterThanOrEqual(seen[index] ?? 0));
  });

  it("stands out by 3 to 1 at least where it says 1.00", () => {
    expect(contrast(luminance(rampRgb(1, theme)), ground)).toBeGreaterThanOrEqual(3);
    expect(contrast(luminance(rampRgb(0, theme)), ground)).toBeLessThan(1.5);
  });

  it("stays red", () => {
    for (const score of SCORES.slice(5)) {
      const [red, green, blue] = rampRgb(score, theme);
      expect(red).toBeGreaterThan(green);
      expect(red).toBeGreaterThan(blue);
    }
  });

  it("is written on with a contrast of at least 4.5", () => {
    for (const score of SCORES) {
      const ink = inkOn(score, theme) === "#ffffff" ? 1 : 0;
      expect(contrast(ink, luminance(rampRgb(score, theme)))).toBeGreaterThanOrEqual(4.5);
    }
  });

  it("clips what lies outside 0 … 1", () => {
    expect(rampRgb(-1, theme)).toEqual(rampRgb(0, theme));
    expect(rampRgb(2, theme)).toEqual(rampRgb(1, theme));
  });
});

function contrast(a: number, b: number): number {
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
}
