/* Marks of boxes and edges. */
import { describe, expect, it } from "vitest";

import type { DiffRow, GraphBox } from "../../src/api/types";
import { namedAt, carriesDifference } from "../../src/graph/boxmarks";

const row = (word: string, inside = false, score: number | null = 0.5) => ({ word, inside, score }) as DiffRow;

describe("namedAt", () => {
  it("marks the place itself, and a closed box that holds it", () => {
    expect(namedAt(row("begins"), false)).toBe("here");
    expect(namedAt(row("begins", true), false)).toBe("inside");
    expect([namedAt(row("heals"), false), namedAt(row("heals", true), false)]).toEqual(["here", "inside"]);
  });
  it("leaves an open box to what stands in it, and all else unmarked", () => {
    expect(namedAt(row("begins", true), true)).toBeNull();
    expect(["carries", "differs", "agrees"].map((word) => namedAt(row(word), false))).toEqual([null, null, null]);
  });
});

describe("carriesDifference", () => {
  const leaves = (word: string, score: number | null) => carriesDifference({ row: row(word, false, score) } as GraphBox);
  it("is said of what differs where it is put out", () => {
    expect([leaves("carries", 0.4), leaves("begins", 1), leaves("differs", 0.2)]).toEqual([true, true, true]);
  });
  it("is not said of what agrees, heals or was not compared, nor of an input", () => {
    expect([leaves("agrees", 0.1), leaves("carries", 0), leaves("carries", null)]).toEqual([false, false, false]);
    expect(carriesDifference(undefined)).toBe(false);
  });
});
