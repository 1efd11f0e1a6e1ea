/* axe on every screen, light and dark, English and Chinese: nothing serious. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";
import { describe, expect, inject, it } from "vitest";

import { addressOf, graphsShown, open, withBrowser } from "./page";

withBrowser();
const places = inject("places");
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

interface Violation {
  id: string;
  impact: string | null;
  nodes: { html: string; failureSummary?: string }[];
}

const SCREENS: Record<string, (page: Page) => Promise<void>> = {
  first: () => Promise.resolve(),
  divergence: (page) => page.keyboard.press("f"),
  "hovered answer": (page) => page.locator(".answer .button.primary").hover(),
  "hovered cause": (page) => page.locator(".finding-main").first().hover(),
  "hovered value": (page) => page.locator(".flow-end").first().hover(),
  legend: (page) => page.locator(".diff-head.rails button").click(),
  outline: (page) => page.keyboard.press("2"),
  nodes: (page) => page.keyboard.press("3"),
  overflow: (page) => page.keyboard.press("4"),
  mapping: (page) => page.keyboard.press("5"),
  trace: (page) => bottom(page, 1),
  stack: (page) => bottom(page, 2),
  pictures: (page) => bottom(page, 3),
  across: (page) => bottom(page, 4),
  communication: (page) => bottom(page, 5),
  help: (page) => page.keyboard.press("?"),
  build: async (page) => {
    await page.keyboard.press("Escape");
    await page.locator(".header-tools > .icon").first().click();
    await page.locator(".build-form").waitFor();
  },
  share: async (page) => {
    await page.keyboard.press("Escape");
    await page.locator(".menu > .icon").click();
    await page.locator("[role=menuitem]").first().waitFor();
  },
  search: async (page) => {
    await page.keyboard.press("Escape");
    await page.keyboard.press("Control+k");
    await page.keyboard.type("mlp");
    await page.locator(".table-row").first().waitFor();
  },
};

describe.each(["light", "dark"] as const)("%s", (colorScheme) => {
  it.each(["en-US", "zh-CN"])("%s has no serious finding", async (locale) => {
    const { page } = await open(await addressOf(places.standalone, "ranks"), { colorScheme, locale });
    await graphsShown(page);
    const found: string[] = [];
    for (const [name, enter] of Object.entries(SCREENS)) {
      await enter(page);
      await settled(page);
      found.push(...(await serious(page, name)));
    }
    for (const [name, [address, shown]] of Object.entries(await otherPages())) {
      await page.goto(address);
      await page.locator(shown).first().waitFor();
      await settled(page);
      found.push(...(await serious(page, name)));
    }
    expect(found).toEqual([]);
    await page.context().close();
  });
});

/** Screens that need an address of their own, and what tells that they are there. */
async function otherPages(): Promise<Record<string, [string, string]>> {
  return {
    failed: [await addressOf(places.standalone, "failed", "&step=1&rank=1"), ".pair-failed"],
    single: [await addressOf(places.standalone, "single"), "canvas.diff-canvas"],
    empty: [`${places.empty}index.html`, ".build-form, canvas.diff-canvas"],
  };
}

/** Nothing is being loaded any more. */
async function settled(page: Page): Promise<void> {
  await page.waitForFunction(() => !/Loading…|加载中/.test(document.body.innerText));
  await page.waitForTimeout(100);
}

async function serious(page: Page, screen: string): Promise<string[]> {
  await page.evaluate(AXE);
  const violations = await page.evaluate(async () => {
    const { axe } = window as unknown as {
      axe: { run: (options: object) => Promise<{ violations: Violation[] }> };
    };
    return (await axe.run({ resultTypes: ["violations"] })).violations;
  });
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .flatMap(({ id, nodes }) =>
      nodes.slice(0, 3).map((node) => `${screen}: ${id}: ${node.html.slice(0, 160)} ${node.failureSummary ?? ""}`),
    );
}

async function bottom(page: Page, index: number): Promise<void> {
  await page.locator(".bottom [role=tab]").nth(index).click();
}
