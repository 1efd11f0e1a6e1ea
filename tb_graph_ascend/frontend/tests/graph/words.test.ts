import { describe, expect, it } from "vitest";

import { asidesOf, differs, foldTitle, markOf, shownScore, titleOf } from "../../src/graph/words";
import { textsOf } from "../../src/i18n/difftexts";
import { changeLanguage, createI18n } from "../../src/i18n/setup";
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
    const side = { id: 1, name: "Module.layers.0.Block.forward.0", title: "layers.0", detail: "Block", call: null, overflow: null, overflow_below: null, until: "", output: null, calls: 0 };
    expect(titleOf(row({ fold: 3 }), { ...side, until: "layers.2" })).toBe("layers.0–2");
    expect(titleOf(row({ fold: 3 }), { ...side, until: "layers.0" })).toBe("layers.0");
    expect(titleOf(row(), side)).toBe("layers.0");
  });
});

describe("what stands after a title", () => {
  const { t } = createI18n();
  it("says of what a level is, and keeps it where the class has no room", () => {
    const side = { id: 1, name: "Module.norm.LayerNorm.forward.0", title: "norm", detail: "LayerNorm", call: 0, overflow: "high", overflow_below: null, until: "", output: null, calls: 0 } as const;
    const said = asidesOf(row({ kind: "module", direction: "backward" }), side, textsOf(t, true), "overflow");
    expect(said).toEqual(["#0  ↩  LayerNorm  overflow: high", "#0  ↩  overflow: high", "#0  ↩  high"]);
    expect(asidesOf(row(), { ...side, overflow: null }, textsOf(t, true), "overflow")[0]).toBe("#0");
  });
  it("is no more than number and mark where room is short, and is none of a fold", () => {
    const side = { id: 1, name: "Functional.cross_entropy.0.backward", title: "cross_entropy", detail: "", call: 0, overflow: null, overflow_below: null, until: "", output: null, calls: 0 } as const;
    expect(markOf(row({ direction: "backward" }), side)).toBe("#0  ↩");
    expect(markOf(row(), side)).toBe("#0");
    expect(markOf(row({ fold: 3 }), side)).toBe("");
    expect(markOf(row(), { ...side, call: null })).toBe("");
  });
  it("is no level where rows are not coloured by it, but where NaN begins", () => {
    const side = { id: 1, name: "Tensor.sqrt.0.forward", title: "sqrt", detail: "", call: 0, overflow: "high", overflow_below: null, until: "", output: null, calls: 0 } as const;
    expect(asidesOf(row(), side, textsOf(t, true), "score")).toEqual(["#0", "#0", "#0"]);
    expect(asidesOf(row(), { ...side, overflow: "critical" }, textsOf(t, true), "score")[0]).toBe("#0  overflow: critical");
  });
});

describe("the word of a row", () => {
  it("says which run has what the other has not, in both languages", async () => {
    const i18n = createI18n();
    const said = () => (["only_problem", "only_benchmark"] as const).map((word) => textsOf(i18n.t, true).word[word]);
    expect(said()).toEqual(["only in problem", "only in benchmark"]);
    await changeLanguage(i18n, "zh");
    expect(said()).toEqual(["仅问题侧有", "仅标杆侧有"]);
  });
});

describe("scores", () => {
  it("of a closed module are the worst that is in it, of an open one its own", () => {
    expect(shownScore(row({ children: 2, score: 0.1, worst_below: 0.9 }))).toBe(0.9);
    expect(shownScore(row({ children: 2, score: 0.1, worst_below: 0.9, open: true }))).toBe(0.1);
    expect(shownScore(row({ children: 2, score: null, worst_below: null }))).toBeNull();
  });

  it("differ where something begins, heals or is carried on, and nowhere else", () => {
    const words = ["none", "agrees", "close", "carries", "begins", "only_inputs", "cannot_tell", "only_problem", "only_benchmark", "differs", "heals"] as const;
    expect(words.filter((word) => differs(row({ word })))).toEqual(["carries", "begins", "differs", "heals"]);
  });
});
