/* What axe finds on a page as it is: what is serious or worse, and headings that are missing or out of order. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

interface Violation {
  id: string;
  impact: string | null;
  nodes: { html: string; failureSummary?: string }[];
}

/** The rules whose answer another theme can change: names, roles and order are the same in each. */
const OF_COLOURS = ["color-contrast", "link-in-text-block"];

/** Where one is by headings is asked as well. */
const OF_HEADINGS = ["page-has-heading-one", "heading-order"];

/** The findings of a screen, each with its name; of its colours alone where the rest was looked at. */
export async function serious(page: Page, screen: string, coloursOnly = false): Promise<string[]> {
  if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(AXE);
  const rules = coloursOnly ? { runOnly: { type: "rule", values: OF_COLOURS } } : {};
  const violations = await page.evaluate(async (chosen) => {
    const { axe } = window as unknown as {
      axe: { run: (options: object) => Promise<{ violations: Violation[] }> };
    };
    return (await axe.run({ resultTypes: ["violations"], ...chosen })).violations;
  }, rules);
  return violations
    .filter(({ id, impact }) => impact === "serious" || impact === "critical" || OF_HEADINGS.includes(id))
    .flatMap(({ id, nodes }) =>
      nodes.slice(0, 3).map((node) => `${screen}: ${id}: ${node.html.slice(0, 160)} ${node.failureSummary ?? ""}`),
    );
}
