/* What boxes say: as the rows do, never a name that the dump does not have. */
import { describe, expect, it } from "vitest";

import type { GraphBox } from "../../src/api/types";
import { boxSize, boxText, fitted, fittedType, inputText, leavesText } from "../../src/graph/boxlook";
import { row } from "../rows";

const words = { comparison: false, calls: (count: number) => `${count} calls`, unrecorded: "no values", last: (output: string) => `last: ${output}`, weights: (shapes: string) => `weights ${shapes}`, alone: (side: string) => `only in ${side}` };
const box = (change: Parameters<typeof row>[0], more: Partial<GraphBox> = {}): GraphBox => ({
  place: 1,
  parent: null,
  lane: "forward",
  row: row(change),
  output: null,
  unrecorded: false,
  weights: [],
  repeats: null,
  ...more,
});

describe("the text of a box", () => {
  it("says of a call that one run alone makes whose it is: both may have one of that name", () => {
    const [ours, theirs] = [box({ key: 1, benchmark: null }), box({ key: 2, problem: null })];
    const compared = { ...words, comparison: true };
    expect([ours, theirs].map((each) => boxText(each, compared).type)).toEqual(["only in problem", "only in benchmark"]);
    expect(boxText(ours, words).type).toBe("");
  });

  it("counts the calls that stand in no module", () => {
    const [side] = [row().problem].flatMap((one) => one ?? []);
    const run = { key: 1, kind: "collection", children: 9 } as const;
    expect(boxText(box({ ...run, problem: side ? { ...side, calls: 7 } : null }), words).line).toContain("7 calls");
    expect(boxText(box({ ...run, problem: null, benchmark: null }), words).line).toContain("9 calls");
  });

  it("says of a call that left no values that it did, and what its reader has seen of it", () => {
    const output = { shape: [2, 3], dtype: "float32", norm: 1 };
    expect(boxText(box({ key: 1 }, { unrecorded: true, output }), words).line).toBe("no values · 2×3");
    expect(boxText(box({ key: 1 }, { output }), words).line).toContain("2×3");
  });

  it("says of repeats whose output it shows, and of what is fed by which name", () => {
    const output = { shape: [2, 3], dtype: "float32", norm: 1 };
    expect(boxText(box({ key: 1, fold: 3 }, { output }), words).line).toBe("last: 2×3 · float32 · ‖1‖");
    expect(inputText({ reader: 1, value: "input.0", tensor: output })).toEqual({ title: "input.0", type: "", line: "2×3 · float32 · ‖1‖", weights: "" });
  });

  it("says the class of a module, what it holds so often, and of one run the shapes of its weights", () => {
    const conv = box({ key: 1, kind: "module" }, { weights: [[16, 3, 3, 3], [16]], repeats: { count: 3, type_name: "Mixer" } });
    const { type, weights } = boxText(conv, words);
    expect(type).toMatch(/3 × Mixer$/);
    expect(weights).toBe("weights 16×3×3×3, 16");
    expect(boxText(conv, { ...words, comparison: true }).weights).toBe("");
    const text = { title: "conv", type: "Conv2d", line: "", weights: "" };
    expect(fittedType(text, boxSize(text, true).width, true)).toBe("Conv2d");
    expect(fittedType({ ...text, type: "ConvolutionOfManyKinds" }, 110, true)).toMatch(/^Conv.*…$/);
  });

  it("names which of several repeats an edge leaves, the first of many and how many", () => {
    const output = { shape: [4, 8], dtype: null, norm: null };
    expect(leavesText({ names: ["layers.1"], count: 1, output })).toBe("layers.1 4×8");
    expect(leavesText({ names: ["layers.0", "layers.1", "layers.2"], count: 6, output: null })).toBe("layers.0, layers.1, layers.2, … (6)");
    expect(leavesText(null)).toBe("");
  });

  it("keeps a margin right of a class, as wide as it is drawn, and says how far the title reaches", () => {
    const text = { title: "mmmmmm", type: "WMWMWMWMWM", line: "", weights: "" };
    const { width, title } = boxSize(text, true);
    expect(width - title).toBeGreaterThanOrEqual(10);
    expect(fittedType(text, width, true)).toBe(text.type);
    expect(fittedType(text, width - 4, true)).not.toBe(text.type);
  });

  it("marks what ran backward", () => {
    expect(boxText(box({ key: 1, direction: "backward" }), words).title).toMatch(/ ↩$/);
    expect(boxText(box({ key: 1, direction: "forward" }), words).title).not.toContain("↩");
  });

  it("is whole in a box that was made for it", () => {
    const title = "self_attention_norm";
    expect(fitted(title, boxSize({ title, type: "", line: "", weights: "" }, true).width, true)).toBe(title);
  });

  it("has room for Chinese, which is wider", () => {
    const [chinese, latin] = ["注意力归一化层输出", "attention"].map((title) => boxSize({ title, type: "", line: "", weights: "" }, true).width);
    expect(chinese).toBeGreaterThan((latin ?? 0) * 1.3);
    expect(fitted("注意力归一化层输出", chinese ?? 0, true)).toBe("注意力归一化层输出");
  });

  it("keeps its end where it is too long: that tells paths apart", () => {
    const title = `layers.${"deep.".repeat(12)}parameters_grad`;
    expect(fitted(title, boxSize({ title, type: "", line: "", weights: "" }, false).width, false)).toMatch(/^….*parameters_grad$/);
  });
});
