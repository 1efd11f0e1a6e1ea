/* The words inside facts: in English as the builder wrote them, in Chinese none of them left. */
import { readFileSync, readdirSync } from "node:fs";
import { resolve } from "node:path";
import { describe, expect, it } from "vitest";

import type { Reason } from "../../src/api/types";
import { factsEn } from "../../src/i18n/facts.en";
import { reasonText } from "../../src/i18n/reason";
import { changeLanguage, createI18n } from "../../src/i18n/setup";

const ON_RANKS: Extract<Reason, { code: "on_ranks" }> = {
  code: "on_ranks",
  ranks: "0, 1",
  coordinates: "tp 0 of 2, pp 1 of 2; tp 1 of 2, pp 1 of 2; and 6 more",
  there: "; there: Module.a.forward.0",
};
const ASIDE = "values fit no layout: 459, local, as the layout file says: 3";
const VALUES: Reason = { code: "merged_values", compared: 485, bounded: 2, assumed: 184, set_aside: 462, reasons: ASIDE };

describe("words inside facts", () => {
  it("read in English as the builder wrote them", () => {
    const { t } = createI18n();
    expect(reasonText(t, ON_RANKS)).toContain(`(${ON_RANKS.coordinates})${ON_RANKS.there}`);
    expect(reasonText(t, VALUES)).toContain(ASIDE);
  });

  it("are Chinese in the Chinese page, names and numbers as they were", async () => {
    const i18n = createI18n();
    await changeLanguage(i18n, "zh");
    const told = reasonText(i18n.t, ON_RANKS);
    expect(told).toContain("tp 0（共 2）, pp 1（共 2）; tp 1（共 2）, pp 1（共 2）；另有 6 个");
    expect(told).toContain("；在该处名为 Module.a.forward.0");
    expect(reasonText(i18n.t, VALUES)).toContain("数值不符合任何布局: 459, 按布局文件为本地值: 3");
    expect(reasonText(i18n.t, { code: "merged", problem: "tp 2", benchmark: "one rank" })).toContain("tp 2 对 单张卡");
    expect(reasonText(i18n.t, { code: "extra_calls", names: "one rank" })).toContain("one rank");
    expect(reasonText(i18n.t, { code: "extra_calls", names: "Tensor.mul.7.forward, Tensor.mul.7.backward" })).toBe("只有问题侧调用 mul #7、mul #7 ↩");
  });

  it("are all that the builder sets values aside for", () => {
    const merge = resolve(import.meta.dirname, "../../../../builder/ranks");
    const files = readdirSync(merge, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".py"));
    const code = files.map((name) => readFileSync(resolve(merge, name), "utf8")).join("\n");
    const asked = [...code.matchAll(/set_aside(?:\(\w+, |\[)"([^"]+)"/g)].map((match) => match[1]);
    const chosen = [...code.matchAll(/reason = "([^"]+)" if listed else "([^"]+)"/g)].flatMap((match) => match.slice(1));
    expect(Object.values(factsEn.aside).sort()).toEqual([...new Set([...asked, ...chosen])].sort());
  });
});
