/* Filtering and sorting findings. */
import { describe, expect, it } from "vitest";

import type { Finding } from "../../src/api/types";
import { negotiate } from "../../src/i18n/negotiate";
import { arrangeFindings, isFiltering } from "../../src/state/findings";
import { NO_FILTER } from "../../src/state/store";
import { node } from "../sample";

function finding(id: number, score: number, name: string): Finding {
  return {
    id,
    step: 0,
    rank: 0,
    kind: "introduced",
    node: node({ id, name, score, verdict: score > 0.5 ? "error" : "pass" }),
    score,
    input_score: 0,
    introduced: score,
    reasons: [],
    propagated_to: 0,
  };
}

const all = [finding(1, 0.4, "b"), finding(2, 0.9, "a"), finding(3, 0.6, "C")];
const ids = (found: Finding[]): number[] => found.map(({ id }) => id);

describe("arrangeFindings", () => {
  it("keeps the order of the diagnosis", () => {
    expect(ids(arrangeFindings(all, NO_FILTER))).toEqual([1, 2, 3]);
    expect(isFiltering(NO_FILTER)).toBe(false);
  });
  it("filters by score, verdict and name in any case", () => {
    expect(ids(arrangeFindings(all, { ...NO_FILTER, minScore: 0.5 }))).toEqual([2, 3]);
    expect(ids(arrangeFindings(all, { ...NO_FILTER, verdict: "pass" }))).toEqual([1]);
    expect(ids(arrangeFindings(all, { ...NO_FILTER, name: "c" }))).toEqual([3]);
  });
  it("sorts without touching its input", () => {
    expect(ids(arrangeFindings(all, { ...NO_FILTER, sort: "score" }))).toEqual([2, 3, 1]);
    expect(ids(all)).toEqual([1, 2, 3]);
  });
});

describe("negotiate", () => {
  it.each([
    [["zh-CN", "en"], "zh"],
    [["de", "zh-TW"], "zh"],
    [["en-GB", "zh"], "en"],
    [["fr"], "en"],
    [[], "en"],
  ] as const)("%j gives %s", (languages, chosen) => {
    expect(negotiate(languages)).toBe(chosen);
  });
});
