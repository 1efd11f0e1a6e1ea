/* Both languages say everything, and every reason of the builder has its sentence. */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { describe, expect, it } from "vitest";

import type { Reason } from "../../src/api/types";
import { en } from "../../src/i18n/en";
import { fullReason, reasonText, refusalText, refusedQuery } from "../../src/i18n/reason";
import { REASON_KINDS } from "../../src/i18n/reasonkinds";
import { reasonsEn } from "../../src/i18n/reasons.en";
import { changeLanguage, createI18n } from "../../src/i18n/setup";
import { zh } from "../../src/i18n/zh";
import { leaves } from "./leaves";

function placeholders(text: string): string[] {
  return [...text.matchAll(/\{\{\s*(\w+)/g)].map((match) => match[1] ?? "").sort();
}

describe("texts", () => {
  const english = new Map(leaves(en));
  const chinese = new Map(leaves(zh));

  it("have the same keys in both languages", () => {
    expect([...chinese.keys()].sort()).toEqual([...english.keys()].sort());
  });

  it("use the same facts in both languages", () => {
    for (const [key, text] of english) {
      expect([key, placeholders(chinese.get(key) ?? "")]).toEqual([key, placeholders(text)]);
    }
  });

  it("put no blank behind a series in Chinese, whose name may end in Chinese", () => {
    const series = [...chinese].filter(([key]) => /^trends\.(cell|alert)\b/.test(key));
    expect(series.length).toBeGreaterThan(7);
    for (const [key, text] of series) expect([key, text]).not.toEqual([key, expect.stringMatching(/\{\{(?:target|name)\}\} /)]);
  });

  it("are nowhere empty", () => {
    for (const text of [...english.values(), ...chinese.values()]) expect(text).not.toBe("");
  });
});

describe("causes that were found before pairs were made by hand", () => {
  it("may hold or not, in the list and in the headline, in both languages", () => {
    for (const key of ["sinceCauses", "former", "formerListed_one", "formerListed_other", "maybe"] as const) {
      expect(en.certainty[key]).toContain("may not hold any more");
      expect(zh.certainty[key]).toContain("可能已不成立");
    }
  });
});

describe("sides in Chinese", () => {
  it("are named once, by their names", async () => {
    const i18n = createI18n();
    await changeLanguage(i18n, "zh");
    const picked = i18n.t("notice.picked", { name: "gelu", side: "problem", other: "benchmark" });
    expect(picked).toMatch(/已选中问题侧的 gelu。请到标杆侧选中/);
    expect(reasonText(i18n.t, { code: "surplus", value: "output.1", side: "problem" })).toBe("output.1：只存在于问题侧");
    for (const [key, text] of leaves(zh)) expect([key, text]).not.toEqual([key, expect.stringMatching(/侧侧|\)侧/)]);
  });
});

describe("counts", () => {
  it("of one are singular, each for itself", () => {
    const { t } = createI18n();
    const contents = t("build.contents", { steps: t("build.steps", { count: 2 }), ranks: t("build.ranks", { count: 1 }) });
    expect(contents).toBe("2 steps, 1 rank");
  });
});

describe("refused queries", () => {
  const index = resolve(import.meta.dirname, "../../../view/search");
  const raised = ["query.py", "names.py", "expressions.py"].map((file) => readFileSync(resolve(index, file), "utf8")).join("");
  const codes = [...raised.matchAll(/"code": "(\w+)"/g)].map((match) => match[1] ?? "");

  it("are explained in both languages, whatever the server raises", async () => {
    expect([...new Set(codes)].sort()).toEqual(Object.keys(en.search.refused).sort());
    const i18n = createI18n();
    const reason = { code: "no_number", term: "score>high" };
    expect(refusedQuery(i18n.t, reason)).toBe("“score>high” compares with no number: write score>0.5.");
    await changeLanguage(i18n, "zh");
    expect(refusedQuery(i18n.t, reason)).toBe("“score>high”没有可比较的数：请写成 score>0.5。");
  });

  it("are left to the server's words where the code is unknown", () => {
    const { t } = createI18n();
    expect(refusedQuery(t, { code: "brand_new" })).toBeNull();
    expect(refusedQuery(t, null)).toBeNull();
  });
});

describe("numbers in reasons", () => {
  const { t } = createI18n();
  const differs = (problem: string, benchmark: string): Reason => ({ code: "argument_differs", value: "input.1", problem, benchmark });
  it("have four digits, and as many as show how far two of them are apart", () => {
    const far = differs("0.08838834764831845", "0.1767766952966369");
    expect(reasonText(t, far)).toContain("is 0.08839 here and 0.1768 in");
    expect(fullReason(t, far)).toContain("0.08838834764831845");
    const near = differs("0.08838834764831845", "0.08838834764831999");
    expect(reasonText(t, near)).toContain("0.0883883476483184 here and 0.08838834764832 in");
    expect(reasonText(t, differs("relu", "1.25"))).toContain("is relu here and 1.25 in");
  });
});

describe("reasons", () => {
  it("have a sentence for every code of a message", () => {
    expect(Object.keys(REASON_KINDS).length).toBeGreaterThan(20);
    for (const code of Object.keys(REASON_KINDS)) expect([code, code in reasonsEn]).toEqual([code, true]);
  });

  it("say numbers as people read them, in both languages", async () => {
    const i18n = createI18n();
    const reason: Reason = { code: "introduced", value: "output.0", score: 0.91666, input_score: 0 };
    expect(reasonText(i18n.t, reason)).toContain("(score 0.92)");
    await changeLanguage(i18n, "zh");
    expect(reasonText(i18n.t, reason)).toContain("分数 0.92");
  });

  it("of a rule say so where its number is not finite, which JSON has as null, in both languages", async () => {
    const i18n = createI18n();
    const rule: Extract<Reason, { code: "norm_error_appears" }> = { code: "norm_error_appears", value: "output.0", error: null };
    expect(reasonText(i18n.t, rule)).toMatch(/^output\.0: relative error of the norm NaN or Inf, .*norms only/);
    expect(reasonText(i18n.t, { ...rule, error: 0.6 })).toContain("of the norm 0.600, ");
    expect(reasonText(i18n.t, { code: "cosine_drops", value: "output.0", cosine: null })).toContain("cosine NaN or Inf");
    await changeLanguage(i18n, "zh");
    expect(reasonText(i18n.t, rule)).toMatch(/范数的相对误差为 NaN 或 Inf.*只看范数/);
  });

  it("say what was not understood as it stands in the file", () => {
    const { t } = createI18n();
    expect(reasonText(t, { code: "not_understood", text: "brand_new" })).toBe("the file says something that this version does not know: brand_new");
  });

  it("of a mapping are refused with their facts where the code is unknown", () => {
    expect(refusalText(createI18n().t, { code: "brand_new", value: "x" })).toBe("brand new – value: x");
  });
});
