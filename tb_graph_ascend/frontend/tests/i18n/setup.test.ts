/* How numbers are shown in sentences. */
import { describe, expect, it } from "vitest";

import type { Reason } from "../../src/api/types";
import { fullReason, reasonText } from "../../src/i18n/reason";
import { apart, changeLanguage, createI18n, factor, percent } from "../../src/i18n/setup";

it.each([
  [0.5, "50.0 %", " 50.0%"],
  [0.001, "0.1 %", " 0.1%"],
  [8.2e-5, "0.0082 %", " 0.0082%"],
  [40, "40 times the benchmark", " 40 倍"],
  [3.06e9, "3.1 billion times the benchmark", " 31亿倍"],
])("a value that is off by %d says %s", (error, english, chinese) => {
  expect(apart(error, "en")).toBe(english);
  expect(apart(error, "zh")).toBe(chinese);
  expect(percent(0)).toBe("0.0 %");
});

it("counts weights that are fused or in parts where there are any", () => {
  const { t } = createI18n();
  const told = (fused: number) => reasonText(t, { code: "two_implementations", found: 98, weights: 98, fused, modules: 76 });
  expect(told(0)).toContain("by their values, 76 modules");
  expect(told(3)).toContain("by their values (3 of them fused or in parts), 76 modules");
});

describe("evidence", () => {
  const off: Extract<Reason, { code: "explained" }> = { code: "explained", value: "output.0", apart: 0.3, explained: 0.03 };

  it("is about only where it is estimated, and names what it is of", () => {
    const { t } = createI18n();
    expect(reasonText(t, off)).toBe("output.0 is off by 30.0 %, and what differs before it explains 10.0 % of that");
    expect(reasonText(t, { ...off, of: "sketch" })).toContain("by about 30.0 %");
    expect(reasonText(t, { ...off, of: "elements" })).not.toContain("about");
    expect(reasonText(t, { ...off, of: "norm" })).toContain("the norm of output.0 is off");
    expect(reasonText(t, { ...off, explained: 0, at: "Torch.lerp_.0.forward" })).toBe(
      "output.0 of lerp_ #0 is off by 30.0 %, and nothing before it explains that",
    );
    expect(reasonText(t, { ...off, explained: 1e-6 })).toContain("less than 1 % of that");
    expect(reasonText(t, { ...off, value: "input.1", argument: "mask", at: "Torch.where.0.forward" })).toContain("mask (input.1) of where #0 is off");
  });

  it("ends before what its call explains", async () => {
    const i18n = createI18n();
    const argument: Reason = { code: "argument_differs", value: "input.1", problem: "0.5", benchmark: "1.0" };
    const alone = { ...off, explained: 0 };
    expect(reasonText(i18n.t, alone, [argument])).toBe("output.0 is off by 30.0 %");
    expect(fullReason(i18n.t, alone, [argument])).toBe("output.0 is off by 30.0 %");
    expect(reasonText(i18n.t, off, [argument])).toContain("explains 10.0 % of that");
    expect(reasonText(i18n.t, alone, [{ code: "parameter_differs", value: "parameters.weight", score: 1 }])).toContain("nothing before it explains that");
    expect(reasonText(i18n.t, alone, [{ code: "input_differs", value: "input.0", score: 1 }])).toBe("output.0 is off by 30.0 %");
    await changeLanguage(i18n, "zh");
    expect(reasonText(i18n.t, alone, [argument])).toBe("output.0 相差 30.0%");
  });

  it("reads as Chinese in Chinese", async () => {
    const i18n = createI18n();
    await changeLanguage(i18n, "zh");
    expect(reasonText(i18n.t, { ...off, of: "sketch" })).toBe("output.0 相差约 30.0%，此前的差异能解释其中的 10.0%");
    const made: Reason = { code: "unrecorded_differs", value: "input.1", score: 0.9, maker: "Tensor.triu.0.forward" };
    expect(reasonText(i18n.t, made)).toContain("可能由紧邻其前、未留下数值的 triu #0 产生");
  });
});

describe("arguments of two runs", () => {
  const told = (problem: string, benchmark: string): string =>
    reasonText(createI18n().t, { code: "attribute_differs", value: "input.1", attribute: "value", problem, benchmark });

  it.each([
    ["0.99998", "1", "0.99998 here and 1 in"],
    ["0.123456789", "0.5", "0.1235 here and 0.5 in"],
    ["1.0000012345678", "1.0000019345678", "1.0000012 here and 1.0000019 in"],
    // Four digits would tell them apart, but not that neither is 1, nor how far apart they are.
    ["0.99999000001", "0.999999", "0.99999 here and 0.999999 in"],
    ["-0.009999900000000003", "-0.010000000000000002", "-0.0099999 here and -0.01 in"],
    ["0.00099999", "0.001", "9.9999e-4 here and 0.001 in"],
    ["0.999999999", "1", "0.999999999 here and 1 in"],
    ["0.30000000000000004", "0.3", "0.30000000000000004 here and 0.3 in"],
  ])("%s and %s are told apart", (problem, benchmark, said) => {
    expect(told(problem, benchmark)).toContain(said);
  });
});

it("tells a factor as short as it is, and that of a loss scale whole", () => {
  expect([256, 1.1, 2.8284, 65536, -1, 0, 1 / 256].map(factor)).toEqual(["256", "1.1", "2.83", "65536", "-1", "0", "0.00391"]);
});
