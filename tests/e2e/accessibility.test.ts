/* axe on every screen, light and dark, English and Chinese: nothing serious. */
import type { Page } from "playwright-core";
import { describe, expect, inject, it } from "vitest";

import { serious } from "./axe";
import { addressOf, graphsShown, open, rest, withBrowser } from "./page";

withBrowser();
const places = inject("places");
const SCREENS: Record<string, (page: Page) => Promise<void>> = {
  first: () => Promise.resolve(),
  divergence: (page) => page.keyboard.press("f"),
  "hovered answer": (page) => page.locator(".answer .button.primary").hover(),
  "hovered cause": (page) => page.locator(".finding-main").first().hover(),
  "hovered value": (page) => page.locator(".flow-end").first().hover(),
  "focused answer": (page) => page.locator(".answer .button.primary").focus(),
  "focused rows": (page) => page.locator(".diff-scroll").focus(),
  "focused tab": (page) => page.locator(".bottom [role=tab][aria-selected=true]").focus(),
  "focused value": (page) => page.locator(".flow-end").first().focus(),
  legend: (page) => page.locator(".diff-head.rails button").click(),
  outline: (page) => page.keyboard.press("2"),
  nodes: (page) => page.keyboard.press("3"),
  "hovered node": (page) => page.locator(".table-row").first().hover(),
  overflow: (page) => page.keyboard.press("4"),
  mapping: (page) => page.keyboard.press("5"),
  trace: (page) => bottom(page, 1),
  stack: (page) => bottom(page, 2),
  "libraries unfolded": (page) => page.locator(".stacks summary").first().click(),
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
  "nothing fits": async (page) => {
    await page.locator("#search").fill("sofmax");
    await page.locator(".term").first().waitFor();
    await page.locator(".term").first().hover();
  },
  "refused query": async (page) => {
    await page.locator("#search").fill("score>high");
    await page.locator("#search[aria-invalid=true]").waitFor();
  },
  notice: async (page) => {
    await page.locator("#search").fill("");
    await page.locator(".diff-scroll").focus();
    await page.keyboard.press("m");
    await page.locator(".notice").waitFor();
  },
  levels: (page) => page.keyboard.press("o"),
  graph: async (page) => {
    await page.keyboard.press("v");
    await page.locator(".boxes-frame .box").first().waitFor();
  },
  "hovered box": (page) => page.locator(".box").first().hover(),
  "graph legend": (page) => page.locator(".boxes-tools .menu > button").click(),
};

describe.each(["light", "dark"] as const)("%s", (colorScheme) => {
  // What is there, and what it is called, is the same in the dark.
  const coloursOnly = colorScheme === "dark";

  it.each(["en-US", "zh-CN"])("%s has no serious finding", async (locale) => {
    const { page } = await open(await addressOf(places.standalone, "ranks"), { colorScheme, locale });
    await graphsShown(page);
    const found: string[] = [];
    for (const [name, enter] of Object.entries(SCREENS)) {
      await enter(page);
      await rest(page);
      found.push(...(await serious(page, name, coloursOnly)));
    }
    for (const [name, [address, shown]] of Object.entries(await otherPages())) {
      await page.goto(address);
      await page.locator(shown).first().waitFor();
      await rest(page);
      found.push(...(await serious(page, name, coloursOnly)));
    }
    expect(found).toEqual([]);
    await page.context().close();
    // Some forty screens, each looked at for a second or two.
  }, 400_000);
});

/** Screens that need an address of their own, and what tells that they are there. */
async function otherPages(): Promise<Record<string, [string, string]>> {
  return {
    "pair gone": [await addressOf(places.standalone, "ranks", "&step=99&rank=0"), ".gone"],
    proposals: [await addressOf(places.standalone, "renamed", "&list=mapping"), ".proposals"],
    joined: [await addressOf(places.standalone, "joined"), "canvas.diff-canvas"],
    missing: [await addressOf(places.standalone, "renamed", "&step=1&rank=0"), ".pair-failed.missing"],
    failed: [await addressOf(places.standalone, "failed", "&step=1&rank=1"), ".pair-failed"],
    "few shared": [await addressOf(places.standalone, "ported"), ".answer.partly"],
    single: [await addressOf(places.standalone, "single"), ".boxes-frame"],
    empty: [`${places.empty}index.html`, ".build-form, canvas.diff-canvas"],
  };
}

async function bottom(page: Page, index: number): Promise<void> {
  await page.locator(".bottom [role=tab]").nth(index).click();
}
