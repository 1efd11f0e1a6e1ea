/* Divergences, search and overflow: the lists that lead to a node. */
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";

import { on, selectedName, stateIs, tab, withBrowser } from "./page";

withBrowser();
const cards = (page: Page) => page.locator(".findings > .finding");
const count = (page: Page) => page.locator(".search-count").innerText();

describe("divergences", () => {
  it("are stepped through with N and P over steps and ranks, filtered and sorted", () =>
    on("ranks", async (page) => {
      await expect.poll(() => cards(page).count()).toBe(2);
      await page.keyboard.press("n");
      await expect.poll(() => selectedName(page)).toContain("__mul__");
      await stateIs(page, "rank", "0");
      await page.keyboard.press("n");
      await stateIs(page, "rank", "1");
      await expect.poll(() => selectedName(page)).toContain("__mul__");
      await page.keyboard.press("p");
      await stateIs(page, "rank", "0");
      for (const key of ["n", "p", "n", "n", "n"]) await page.keyboard.press(key);
      await stateIs(page, "rank", "1");
      await expect.poll(() => selectedName(page)).toContain("__mul__");
      await page.keyboard.press("n");
      await stateIs(page, "rank", "0");
      await page.getByRole("button", { name: "Filter and sort" }).click();
      await page.locator(".filter-form .wide select").selectOption("this");
      await expect.poll(() => cards(page).count()).toBe(1);
      await page.locator(".filter-form .wide select").selectOption("all");
      await page.getByLabel("Sort by").selectOption("name");
      await page.getByLabel("Direction").selectOption("backward");
      await page.getByRole("button", { name: "Clear the filter" }).click();
      await page.getByLabel("Name contains").fill("MUL");
      await expect.poll(() => cards(page).count()).toBe(2);
      await stateIs(page, "name", "MUL");
      await page.getByLabel("Score from").fill("1");
      await page.getByText("No finding fits the filter.").waitFor();
      await page.getByRole("button", { name: "Clear the filter" }).last().click();
      await page.getByLabel("Verdict").selectOption("error");
      await stateIs(page, "verdict", "error");
    }));

  it("fold out what they propagated to", () =>
    on("tensor", async (page) => {
      await page.getByRole("button", { name: /propagated/ }).click();
      await page.locator(".propagated li").first().waitFor();
      await page.locator(".propagated li button").first().click();
      await expect.poll(() => selectedName(page)).toMatch(/linear|fc2/);
    }));
});

describe("search", () => {
  it("finds names of either side, and marks them in the graph", () =>
    on("renamed", async (page) => {
      await page.keyboard.press("Control+k");
      await page.keyboard.type("layers.0.");
      await expect.poll(() => page.locator(".search-hits .side-dot.problem").count()).toBeGreaterThan(0);
      await page.locator("#search").fill("mlp.fc1.Linear.forward");
      await expect.poll(() => count(page)).toBe("2 hits");
      expect(await page.locator(".search-hits .side-dot.benchmark").count()).toBe(2);
      await page.keyboard.press("Enter");
      await expect.poll(() => selectedName(page)).toContain("mlp.fc1");
      await page.keyboard.press("Shift+Enter");
      await expect.poll(() => count(page)).toBe("2 of 2");
      await stateIs(page, "q", "mlp.fc1.Linear.forward");
    }));

  it("goes to a hit of what was typed last, however slow its answer", () =>
    on("tensor", async (page) => {
      await page.route("**/search?*", async (route) => {
        if (route.request().url().includes("q=gelu")) await new Promise((next) => setTimeout(next, 1500));
        await route.continue();
      });
      await page.locator("#search").fill("linear");
      await expect.poll(() => count(page)).toMatch(/^\d+ hits/);
      await page.locator("#search").fill("gelu");
      await page.keyboard.press("Shift+Enter");
      expect(await count(page)).toBe("…");
      await expect.poll(() => count(page)).toMatch(/^(\d+) of \1$/);
      await expect.poll(() => selectedName(page)).toMatch(/gelu/i);
    }));

  it("keeps the hit chosen last where the way to an earlier one was longer", () =>
    on("tensor", async (page) => {
      let ways = 0;
      let late: Promise<unknown> | undefined;
      await page.route("**/path", (route) => {
        const pause = ways++ === 0 ? 1500 : 0;
        const passed = new Promise((next) => setTimeout(next, pause)).then(() => route.continue());
        late ??= passed.then(() => route.request().response()).then((answer) => answer?.finished());
      });
      await page.locator("#search").fill("gelu");
      await expect.poll(() => count(page)).toMatch(/^\d+ hits/);
      await page.keyboard.press("Enter");
      await page.keyboard.press("Shift+Enter");
      await expect.poll(() => selectedName(page)).toMatch(/gelu/i);
      const last = await selectedName(page);
      await late;
      await page.waitForTimeout(300);
      expect(await selectedName(page)).toBe(last);
    }));

  it("counts, steps through, takes regular expressions, and says what is wrong with one", () =>
    on("tensor", async (page, { complaints }) => {
      await page.keyboard.press("/");
      await page.keyboard.type("GELU");
      await expect.poll(() => count(page)).toMatch(/^\d+ hits/);
      await page.keyboard.press("Enter");
      await expect.poll(() => count(page)).toMatch(/1 of \d+/);
      await expect.poll(() => selectedName(page)).toContain("gelu");
      await page.getByRole("button", { name: "Regular expression" }).click();
      await page.locator("#search").fill("fc[12].*forward");
      await expect.poll(() => count(page)).toMatch(/8 hits/);
      await page.locator("#search").fill("fc[");
      await page.locator(".search-hits.message").waitFor();
      complaints.length = 0; // the refused expression is a failed request
    }));
});

describe("overflow", () => {
  it("recolours and lists by level, or says how to get levels", async () => {
    await on("nan", async (page) => {
      await page.getByRole("switch", { name: "Colour by overflow level" }).click();
      await stateIs(page, "colour", "overflow");
      await tab(page, "Overflow");
      expect(await page.locator(".row").first().innerText()).toContain("log");
    });
    await on("tensor", async (page) => {
      await tab(page, "Overflow");
      expect(await page.locator(".command").innerText()).toContain("-oc");
    });
  });
});
