/* Where to go on from a step and rank that cannot be compared. */
import { describe, expect, it } from "vitest";

import { countsOf, nearestCompared } from "../../src/state/pairs";

const pair = (step: number, rank: number, status = "ok") => ({ step, rank, status });

describe("the nearest that was compared", () => {
  it("is of the same rank, else of the nearest step", () => {
    const pairs = [pair(0, 1), pair(1, 0), pair(4, 1), pair(3, 1, "missing")];
    expect(nearestCompared(pairs, pair(3, 1))).toEqual(pair(4, 1));
    expect(nearestCompared(pairs, pair(3, 7))).toEqual(pair(4, 1));
    expect(nearestCompared(pairs, pair(1, 5))).toEqual(pair(1, 0));
  });
  it("is none where none was", () => {
    expect(nearestCompared([pair(0, 0, "failed")], pair(0, 0))).toBeNull();
  });
});

it("counts over all steps and ranks that were compared", () => {
  const counted = (matched: number, divergent: number, status: "ok" | "failed" = "ok") => ({ status, matched, divergent, unmatched_problem: 2, unmatched_benchmark: 1 });
  expect(countsOf([counted(319, 0), counted(439, 7), counted(9, 9, "failed")])).toEqual({ matched: 758, unmatched: 6, divergent: 7 });
});
