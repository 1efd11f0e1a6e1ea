/* Which step and rank a file opens at. */
import { describe, expect, it } from "vitest";

import type { Database } from "../../src/api/types";
import { firstPair } from "../../src/state/places";

const file = (...pairs: [number, number, string, number][]) =>
  ({ pairs: pairs.map(([step, rank, status, divergent]) => ({ step, rank, status, divergent })) }) as unknown as Database;

describe("the step and rank that is opened", () => {
  it("is that of the beginning, however clean those before it are", () => {
    expect(firstPair(file([0, 0, "ok", 0], [1, 1, "ok", 3]), { step: 1, rank: 1, node: 5 })).toEqual({ step: 1, rank: 1 });
  });
  it("is the first in which something differs where no beginning is named", () => {
    expect(firstPair(file([0, 0, "ok", 0], [0, 1, "failed", 0], [1, 0, "ok", 2], [1, 1, "ok", 9]), undefined)).toEqual({ step: 1, rank: 0 });
  });
  it("is the first that was compared where nothing differs, else the first", () => {
    expect(firstPair(file([0, 0, "missing", 0], [1, 0, "ok", 0]), undefined)).toEqual({ step: 1, rank: 0 });
    expect(firstPair(file([0, 0, "missing", 0]), undefined)).toEqual({ step: 0, rank: 0 });
    expect(firstPair(file(), undefined)).toBeUndefined();
  });
});
