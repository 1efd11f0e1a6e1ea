/* The answer on the first screen: words, source line, ranks; and what was not compared. */
import type { Page } from "playwright-core";
import { describe, expect, inject, it } from "vitest";

import { addressOf, chooseFile, graphsShown, on, open, selectedName, stateIs, tab, withBrowser } from "./page";

withBrowser();
const places = inject("places");
/** Comparing 256 pairs goes on beside the first journeys. */
const MANY_MS = 400_000;
const answer = (page: Page) => page.locator(".answer").innerText();

describe("answer", () => {
  it("names module, call, difference and source line without a click, and shows its values", () =>
    on("tensor", async (page) => {
      const said = await answer(page);
      expect(said).toContain("It begins in layers.1.mlp");
      expect(said).toContain("__mul__ #0");
      expect(said).toContain("only the problem run calls");
      expect(said).toMatch(/model_dump\.py:\d+\s+y = y \* 1\.7/);
      expect(said).toMatch(/1 cause · (?:\d+ of|all) \d+ divergent nodes in this step trace back to it/);
      await expect.poll(() => selectedName(page)).toBe("Tensor.__mul__.0.forward");
      await page.locator(".value-table").waitFor();
      await tab(page, "Stack");
      await expect.poll(() => page.locator(".stacks").innerText()).toContain("y = y * 1.7");
      const card = await page.locator(".finding").first().innerText();
      expect(card).toContain("layers.1.mlp");
      expect(card).toContain("model_dump.py");
    }));

  it("says of two ways to one result that they come together again, and marks no beginning", () =>
    on("heals", async (page) => {
      const said = await answer(page);
      expect(said).toContain("Both runs come to the same result; mixer gets there another way");
      expect(said).toContain("1 other way to the same result");
      await expect.poll(() => page.locator(".answer").getAttribute("class")).toBe("answer heals");
      const named = (word: string) => page.locator(`[role=row][data-word=${word}]`);
      await named("heals").first().waitFor();
      await expect.poll(() => named("begins").count()).toBe(0);
      await expect.poll(() => page.locator(".finding .tag").first().innerText()).toBe("another way");
      await page.keyboard.press("v");
      await page.locator(".box-heals").first().waitFor();
      await expect.poll(() => page.locator(".box-begins, .box[data-word=begins]").count()).toBe(0);
      await tab(page, "Way to the cause");
      await expect.poll(() => page.locator(".panel").allInnerTexts().then((texts) => texts.join())).not.toContain("begins here");
    }));

  it("says what was compared and what was not where nothing diverges", () =>
    on("renamed", async (page) => {
      const said = await answer(page);
      expect(said).toContain("Not all that should be was compared, so nothing can be said of the whole");
      expect(said).toContain("300 values have equal statistics");
      expect(said).toContain("56 nodes have no partner");
      expect(said).toContain("on one side only");
      // Calls with a partner and no value have a list of their own.
      await page.locator(".answer-gaps li").filter({ hasText: "56 nodes" }).getByRole("button", { name: "List them" }).click();
      await expect.poll(() => page.locator(".search-count").innerText()).toBe("56 nodes");
      await expect.poll(() => page.locator(".table-row").count()).toBeGreaterThan(5);
      // Where no node can be selected the steps and ranks are still a way back.
      await page.getByRole("gridcell", { name: /on one side only/ }).first().click();
      await page.locator(".pair-failed.missing").waitFor();
      await tab(page, "Steps & ranks");
      await page.getByRole("table", { name: "Worst score of every step and rank" }).getByRole("button", { name: /^step 0, rank 0: score/ }).click();
      await page.locator("canvas.diff-canvas").waitFor();
    }));

  it("shows a score beside a value, never a verdict that contradicts it", () =>
    on("tensor", async (page) => {
      await page.keyboard.press("ArrowDown");
      await expect.poll(() => selectedName(page)).toContain("fc2");
      const head = page.locator(".selected-head");
      await expect.poll(() => head.locator(".chip").innerText()).toMatch(/^0\.\d\d$/);
      await expect.poll(() => head.innerText()).not.toMatch(/\b(pass|warning|error)\b/);
      await expect.poll(() => head.locator(".chip").getAttribute("title")).toMatch(/msprobe's verdict: (pass|warning|error)/);
      const shown = (await page.locator(".value-table .chip").allInnerTexts()).map(Number).filter(Number.isFinite);
      expect(shown).toEqual([...shown].sort((a, b) => b - a));
    }));

  it("shows the three culprits of 64 ranks × 4 steps in two rows, one cause, one tab stop", async () => {
    const { page, complaints } = await open(`${places.standalone}index.html`);
    await chooseFile(page, "many/many.vis.db", MANY_MS);
    await stateIs(page, "step", "2");
    await stateIs(page, "rank", "17");
    await expect.poll(() => answer(page)).toContain("3 ranks (17–18, 40), from step 2");
    await expect.poll(() => page.locator(".finding").count()).toBe(1);
    const rows = page.locator(".rank-strip-row");
    await expect.poll(() => rows.count()).toBe(2);
    await expect.poll(() => rows.first().locator(".rank-strip-ranks").innerText()).toBe("ranks 17–18, 40");
    await expect.poll(() => rows.first().locator(".strip-cell.high").count()).toBe(2);
    const box = await rows.first().locator(".strip-cell").first().boundingBox();
    expect([box?.width, box?.height]).toEqual([14, 14]);
    await expect.poll(() => page.locator(".rank-strip [tabindex='0']").count()).toBe(1);

    const grid = page.getByRole("grid", { name: /Worst score of every step and rank/ });
    await grid.focus();
    for (const key of ["ArrowDown", "ArrowRight", "Enter"]) await page.keyboard.press(key);
    await stateIs(page, "step", "3");
    await stateIs(page, "rank", "0");
    await rows.first().locator(".strip-cell").nth(1).click();
    await stateIs(page, "step", "1");
    await stateIs(page, "rank", "17");
    expect(complaints).toEqual([]);
    await page.context().close();
  }, MANY_MS);

  it("calls a factor that is twice the other 0.5 wrong, with four digits", async () => {
    const { page, complaints } = await open(await addressOf(places.standalone, "scaled"));
    await graphsShown(page);
    const table = page.locator(".value-table");
    await table.waitFor();
    const row = table.locator("tr", { hasText: "input.1" });
    const cells = (await row.locator("td").allInnerTexts()).map((text) => text.trim());
    expect(cells).toEqual(expect.arrayContaining(["= 0.08839", "= 0.1768", "-0.08839", "0.5000"]));
    await expect.poll(() => table.innerText()).not.toMatch(/Inf|\d{9}/);
    expect(complaints).toEqual([]);
    await page.context().close();
  });
});
