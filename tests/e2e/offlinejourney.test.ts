/* A page that carries its result, opened from the disk: the journeys of a person without a server. */
import { pathToFileURL } from "node:url";
import type { Page } from "playwright-core";
import { beforeAll, describe, expect, inject, it } from "vitest";

import { serious } from "./axe";
import { writePage } from "./offlinepage";
import { downloaded, graphsShown, open, query, rest, selectedName, stateOf, tab, withBrowser } from "./page";

withBrowser();

describe("a page without a server", () => {
  let address = "";
  beforeAll(() => {
    address = pathToFileURL(writePage(inject("places").logdir, "causes")).href;
  });

  /** Open it with no network at all; whatever it asks for is a complaint. */
  async function onDisk(journey: (page: Page) => Promise<void>, more = ""): Promise<void> {
    const { page, complaints } = await open(`${address}${more}`, { offline: true });
    const asked: string[] = [];
    page.on("request", (request) => asked.push(request.url()));
    await graphsShown(page);
    await journey(page);
    expect(complaints).toEqual([]);
    expect(asked.filter((url) => !/^(?:blob|data):/.test(url))).toEqual([]);
    await page.context().close();
  }

  it("says where it begins, how sure that is, and goes there", async () => {
    await onDisk(async (page) => {
      const headline = await page.locator(".answer").innerText();
      expect(headline).toMatch(/begins in/i);
      expect(headline).toMatch(/certain|likely|possible/);
      await page.keyboard.press("f");
      await rest(page);
      expect(await selectedName(page)).toMatch(/layer_norm|gelu/);
      await expect.poll(() => page.locator(".bottom").innerText()).toContain("output");
      await tab(page, "Stack");
      await expect.poll(() => page.locator(".bottom").innerText()).toMatch(/model_dump\.py/);
      await tab(page, "Way to the cause");
      await rest(page);
      await tab(page, "Steps & ranks");
      await expect.poll(() => page.locator(".bottom").innerText()).toMatch(/rank/i);
    });
  });

  it("switches step and rank, and keeps its place in the address", async () => {
    await onDisk(async (page) => {
      const before = stateOf(page).get("rank");
      await page.getByRole("button", { name: before === "0" ? /next rank/i : /previous rank/i }).click();
      await expect.poll(() => stateOf(page).get("rank")).not.toBe(before);
      await graphsShown(page);
      await page.getByRole("button", { name: /next step/i }).click();
      await expect.poll(() => stateOf(page).get("step")).toBe("1");
    });
  });

  it("finds nodes, and draws a module as a graph", async () => {
    await onDisk(async (page) => {
      await query(page, "layer_norm backward");
      await expect.poll(() => page.locator(".table-row").count()).toBeGreaterThan(0);
      await query(page, "gelu kind:api");
      await page.keyboard.press("Escape");
      await page.keyboard.press("v");
      await page.locator(".boxes-frame").waitFor();
      await rest(page);
      expect(await page.locator(".boxes-frame").innerText()).toContain("layer_norm");
    });
  });

  it("speaks Chinese and goes dark", async () => {
    await onDisk(async (page) => {
      await page.getByRole("button", { name: /中文|Chinese/ }).click();
      await expect.poll(() => page.locator("html").getAttribute("lang")).toBe("zh-CN");
      await expect.poll(() => page.locator("h1").first().innerText()).toMatch(/[\u4e00-\u9fff]/);
    });
  });

  it("hands on what it can make, and says of the rest who makes it", async () => {
    await onDisk(async (page) => {
      await expect(page.getByRole("button", { name: /slide/i }).count()).resolves.toBe(0);
      await expect(page.getByRole("button", { name: /build/i }).count()).resolves.toBe(0);
      await page.locator(".menu > .icon").click();
      expect(await page.locator(".menu-list").innerText()).toContain("msprobe serve");
      const { name, content } = await downloaded(page, () => page.getByRole("menuitem", { name: "Causes as CSV" }).click());
      expect(name).toMatch(/findings\.csv$/);
      expect(content.toString()).toContain("layer_norm");
      await page.keyboard.press("5");
      await expect.poll(() => page.locator(".mapping").innerText()).toContain("msprobe serve");
    });
  });

  it("has nothing serious for axe, light and dark", async () => {
    for (const colorScheme of ["light", "dark"] as const) {
      const { page } = await open(address, { offline: true, colorScheme });
      await graphsShown(page);
      const found = await serious(page, `first ${colorScheme}`);
      for (const key of ["2", "3", "5", "v"]) {
        await page.keyboard.press(key);
        await rest(page);
        found.push(...(await serious(page, `${key} ${colorScheme}`)));
      }
      expect(found).toEqual([]);
      await page.context().close();
    }
  });
});
