import { describe, expect, it } from "vitest";

import { differs, foldTitle, shownScore, titleOf } from "../../src/graph/words";
import { row } from "../rows";

describe("titles of folds", () => {
  it.each([
    ["layers.0", "layers.999", "layers.0–999"],
    ["layers.1001", "layers.1999", "layers.1001–1999"],
    ["layers.23", "layers.0", "layers.23–0"],
    ["0", "7", "0 – 7"],
    ["block_a", "block_b", "block_a – block_b"],
  ])("%s … %s reads %s", (from, until, wanted) => {
    expect(foldTitle(from, until)).toBe(wanted);
  });

  it("are those of rows that stand for repeats", () => {
    const side = { id: 1, name: "Module.layers.0.Block.forward.0", title: "layers.0", detail: "Block", call: null, overflow: null, overflow_below: null, until: "", output: null };
    expect(titleOf(row({ fold: 3 }), { ...side, until: "layers.2" })).toBe("layers.0–2");
    expect(titleOf(row({ fold: 3 }), { ...side, until: "layers.0" })).toBe("layers.0");
    expect(titleOf(row(), side)).toBe("layers.0");
  });
});

describe("scores", () => {
  it("of a closed module are the worst that is in it, of an open one its own", () => {
    expect(shownScore(row({ children: 2, score: 0.1, worst_below: 0.9 }))).toBe(0.9);
    expect(shownScore(row({ children: 2, score: 0.1, worst_below: 0.9, open: true }))).toBe(0.1);
    expect(shownScore(row({ children: 2, score: null, worst_below: null }))).toBeNull();
  });

  it("differ where something begins or is carried on, and nowhere else", () => {
    const words = ["none", "agrees", "carries", "begins", "cannot_tell", "only_problem", "only_benchmark"] as const;
    expect(words.filter((word) => differs(row({ word })))).toEqual(["carries", "begins"]);
  });
});
