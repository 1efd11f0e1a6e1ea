/* What the headline says of a cause, and how causes are counted in it. */
import { describe, expect, it } from "vitest";

import type { Cause } from "../../src/api/types";
import { changeLanguage, createI18n } from "../../src/i18n/setup";
import { beginsText, causeText, countText } from "../../src/state/causes";

const NAMED = { code: "named" } as const;
const HEALS = { code: "heals" } as const;

describe("a module in the headline", () => {
  const { t } = createI18n();
  const begins = (module: string, spoken: string, direction: string) => beginsText(t, { module, spoken, stack: null, finding: { reasons: [], node: { direction } } } as unknown as Cause, NAMED);
  it("is told as the server speaks of it, with its class", () => {
    expect(begins("encoder.3", "encoder.3 (Linear)", "forward")).toBe("It begins in encoder.3 (Linear)");
    expect(begins("rnn", "rnn #1", "backward")).toBe("It begins in the backward pass of rnn #1");
  });
});

describe("what is only fed otherwise", () => {
  const call = { kind: "api", name: "Torch.tanh.0.forward", label: "tanh", direction: "forward", recomputed: false };
  const fed = (code: string, module: string | null, node: object = {}) =>
    ({ module, spoken: module, stack: null, finding: { kind: "input_differs", reasons: [{ code, value: "input.0" }], node: { ...call, ...node } } }) as unknown as Cause;
  const itself = { kind: "module", name: "Module.head.Linear.forward.0", label: "head" };
  it("is no place where it begins: that is before it", async () => {
    const i18n = createI18n();
    const said = (cause: Cause) => beginsText(i18n.t, cause, NAMED);
    expect(said(fed("input_differs", "head", itself))).toBe("It begins before head");
    expect(said(fed("elements_moved", "steps.1"))).toBe("It begins before tanh #0 in steps.1");
    expect(said(fed("unrecorded_differs", "head", { ...itself, direction: "backward" }))).toBe("It begins before the backward pass of head");
    expect(said(fed("batch_differs", null))).toBe("It begins before tanh #0 in the script, outside of all modules");
    expect(said(fed("unrecorded_differs", "optimizer", { ...itself, name: "Optimizer.SGD.step.0" }))).toBe("It begins before the optimizer");
    await changeLanguage(i18n, "zh");
    expect(said(fed("input_differs", "head", itself))).toBe("起点在 head 之前");
    expect(said(fed("elements_moved", "steps.1"))).toBe("起点在 steps.1 中的 tanh #0 之前");
  });
  it("is one where another call is read, or calls are added", () => {
    const { t } = createI18n();
    for (const code of ["rewired", "extra_calls", "called_later"]) expect(beginsText(t, fed(code, "head", itself), NAMED)).toBe("It begins in head");
    const { finding } = fed("integers_differ", "head", itself);
    expect(beginsText(t, { module: "head", spoken: "head", finding: { ...finding, kind: "introduced" } } as unknown as Cause, NAMED)).toBe("It begins in head");
  });
});

describe("what heals", () => {
  const { t } = createI18n();
  const cause = (heals: boolean) => ({ spoken: "mixer", finding: { reasons: heals ? [{ code: "heals" }] : [], node: {} } }) as unknown as Cause;
  it("is no beginning in the headline", () => {
    expect(beginsText(t, cause(true), HEALS)).toBe("Both runs come to the same result; mixer gets there another way");
    expect(beginsText(t, cause(true), NAMED)).toBe("mixer comes to the same result another way");
  });
  it("is counted apart from causes; what is left out behind it heals as well", () => {
    expect(countText(t, [cause(false), cause(false)], 2)).toBe("2 causes");
    expect(countText(t, [cause(true)], 1)).toBe("1 other way to the same result");
    expect(countText(t, [cause(false), cause(true)], 5)).toBe("1 cause, 4 other ways to the same result");
    expect(countText(t, [cause(false)], 300)).toBe("300 causes");
  });
});

describe("beginsText", () => {
  const STEP = ["File /job/train.py, line 14, in step, \n loss = loss * 2", "File /job/train.py, line 30, in <module>, \n step()"];
  it("says of the script itself which line, and where nobody knows it that it is in no module", async () => {
    const i18n = createI18n();
    const said = (stack: string[] | null) => beginsText(i18n.t, { module: null, spoken: null, stack, finding: { reasons: [], node: { name: "Tensor.mul.0.forward" } } } as unknown as Cause, NAMED);
    const stacks = [STEP.slice(1), null, []];
    expect(stacks.map(said)).toEqual(["It begins in train.py, line 30", "It begins in the script, outside of all modules", "It begins in the script, outside of all modules"]);
    await changeLanguage(i18n, "zh");
    expect(stacks.map(said)).toEqual(["差异始于 train.py 第 30 行", "差异始于 脚本（不在任何模块中）", "差异始于 脚本（不在任何模块中）"]);
  });
  it("names the module, the optimizer, or the function of the script", async () => {
    const i18n = createI18n();
    const said = () => ["layers.1", "optimizer", null].map((module) => beginsText(i18n.t, { module, spoken: module, stack: STEP, finding: { reasons: [], node: { name: "Tensor.mul.0.forward" } } } as unknown as Cause, NAMED));
    expect(said()).toEqual(["It begins in layers.1", "It begins in the optimizer", "It begins in step (train.py, line 14)"]);
    await changeLanguage(i18n, "zh");
    expect(said()).toEqual(["差异始于 layers.1", "差异始于优化器", "差异始于 step（train.py 第 14 行）"]);
  });
  it("says that it is in the backward pass, of a gradient and of a call that a backward makes", () => {
    const { t } = createI18n();
    const said = (module: string | null, node: object) => beginsText(t, { module, spoken: module, stack: STEP, finding: { reasons: [], node: { name: "Tensor.mul.0.forward", ...node } } } as unknown as Cause, NAMED);
    expect(said("up", { direction: "backward", recomputed: false })).toBe("It begins in the backward pass of up");
    expect(said("up", { direction: "forward", recomputed: true })).toBe("It begins in the backward pass of up");
    expect(said(null, { direction: "backward", recomputed: false })).toBe("It begins in the backward pass of step (train.py, line 14)");
    expect(said("optimizer", { direction: "forward", recomputed: true })).toBe("It begins in the optimizer");
  });
  it("says of another way to the same result that the result is the same", () => {
    const { t } = createI18n();
    const reasons = [{ code: "missing_calls", names: "Tensor.clamp.0.forward" }, { code: "heals" }];
    const healing = (module: string | null) => ({ module, spoken: module, stack: STEP, finding: { reasons, node: { name: "Tensor.mul.0.forward" } } }) as unknown as Cause;
    expect(beginsText(t, healing("head"), HEALS)).toBe("Both runs come to the same result; head gets there another way");
    expect(beginsText(t, healing(null), HEALS)).toBe("Both runs come to the same result; step (train.py, line 14) gets there another way");
    expect(causeText(t, healing("head"))).toBe("only the benchmark run calls clamp #0; all that comes of it agrees in the end: this is another way to the same result");
  });
});
