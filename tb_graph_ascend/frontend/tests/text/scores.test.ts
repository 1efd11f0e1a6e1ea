/* The sentence that says how a score was made, and the tolerance that it was made with. */
import { describe, expect, it } from "vitest";

import type { ValuePair } from "../../src/api/types";
import { changeLanguage, createI18n } from "../../src/i18n/setup";
import { scoreSentence, toleranceOf } from "../../src/text/scores";

const FLOAT32 = 4 * 2 ** -23;

function value(told: Partial<ValuePair>): ValuePair {
  const nothing = { problem: null, benchmark: null, worst: false, measures: {}, differs: [] };
  return { role: "output", path: "0", score: null, error: null, error_of: null, let_pass: null, ...nothing, ...told };
}

/** As builder/compare/score.py makes it. */
function scored(error: number, tolerance: number): number {
  return Math.min(1, Math.max(0, Math.log(error / tolerance) / Math.log(1 / tolerance)));
}

describe("the tolerance", () => {
  it.each([FLOAT32, FLOAT32 * 1.03 ** 28, 4 * 2 ** -7])("%s is read back from error and score", (tolerance) => {
    for (const error of [tolerance * 1.01, 0.06, 0.3, 0.97]) {
      expect(toleranceOf({ error, score: scored(error, tolerance) })).toBeCloseTo(tolerance, 12);
    }
  });

  it("is not known at the ends of the scale, nor without an error", () => {
    expect(toleranceOf({ error: 1.3, score: 1 })).toBeNull();
    expect(toleranceOf({ error: 1e-9, score: 0 })).toBeNull();
    expect(toleranceOf({ error: "inf", score: 1 })).toBeNull();
    expect(toleranceOf({ error: null, score: 0.5 })).toBeNull();
  });
});

describe("the sentence of a score", () => {
  const { t } = createI18n();

  it("names the error that made it, its value and both ends of the scale", () => {
    const told = scoreSentence(t, value({ error: 0.3, score: scored(0.3, FLOAT32), error_of: "norm" }));
    expect(told).toBe(
      "score 0.92: relative error of the norm 0.3000, on a log scale between the tolerance 4.768e-7 (0) and 100 % (1)",
    );
  });

  it("says at the ends which end it is", () => {
    expect(scoreSentence(t, value({ error: 1.26, score: 1, error_of: "sketch" }))).toBe(
      "score 1.00: relative error of the elements 1.260, estimated from sketches; 1 is reached at 100 %",
    );
    expect(scoreSentence(t, value({ error: 1e-9, score: 0, error_of: "max" }))).toContain("inside the tolerance");
    expect(scoreSentence(t, value({ error: 0, score: 0, error_of: "norm" }))).toBe("score 0.00: no difference");
    const passed = scoreSentence(t, value({ error: 0.0022, score: 0.48, error_of: "sketch", let_pass: "inputs" }));
    expect(passed).toMatch(/^score 0.48: .*0.002200.*differs as its inputs do/);
    expect(passed).not.toContain("tolerance 4");
    expect(scoreSentence(t, value({ error: 1, score: 1 }))).toContain("relative error 1;");
    expect(scoreSentence(t, value({ error: "inf", score: 1, error_of: "norm" }))).toBe(
      "score 1.00: the two are not the same, which no tolerance accepts",
    );
  });

  it("claims nothing where error or score are unknown", () => {
    expect(scoreSentence(t, value({ error: 0.3 }))).toBeNull();
    expect(scoreSentence(t, value({ score: 0.3 }))).toBe("score 0.30");
  });

  it("is Chinese in the Chinese page", async () => {
    const i18n = createI18n();
    await changeLanguage(i18n, "zh");
    const told = scoreSentence(i18n.t, value({ error: 0.3, score: scored(0.3, FLOAT32), error_of: "norm" }));
    expect(told).toBe("分数 0.92：范数的相对误差 0.3000，按对数刻度介于容差 4.768e-7（0）与 100%（1）之间");
  });
});
