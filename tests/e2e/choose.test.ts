/* Which file, step, rank and micro-step: new files appear, and the choice keeps what is open. */
import { copyFileSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, inject, it } from "vitest";

import { chooseFile, on, open, selectedName, stateIs, tab, withBrowser } from "./page";

withBrowser();
const places = inject("places");
/** Writing 100,000 entries a side and comparing them goes on beside the first journeys. */
const LARGE_MS = 300_000;

describe("choosing", () => {
  it("offers new result files without a reload, at any depth, several in a folder", () =>
    on("statistics", async (page) => {
      const folder = join(places.logdir, "late/and/deep");
      const labels = () => page.locator("select.database option").allInnerTexts();
      expect((await labels()).join()).not.toContain("late/and/deep/one.vis.db");
      mkdirSync(folder, { recursive: true });
      for (const name of ["one", "two"]) {
        copyFileSync(join(places.logdir, "nan/nan.vis.db"), join(folder, `${name}.vis.db`));
      }
      await chooseFile(page, "late/and/deep/two.vis.db");
      // Each says what it compares.
      expect((await labels()).join("\n")).toMatch(/^late\/and\/deep\/one\.vis\.db · \S+ ↔ \S+$/m);
      await page.keyboard.press("f");
      await expect.poll(() => selectedName(page)).toContain("log");
      rmSync(join(places.logdir, "late"), { recursive: true });
    }));

  it("keeps what is selected and open when step and rank change", () =>
    on("ranks", async (page) => {
      await page.keyboard.press("f");
      await expect.poll(() => selectedName(page)).toBe("Tensor.__mul__.0.forward");
      // Other steps and ranks have other ids; as many modules are open there.
      await stateIs(page, "open", /^\d+\.\d+$/);
      for (const [key, what] of [["]", "step"], ["}", "rank"]] as const) {
        await page.keyboard.press(key);
        await stateIs(page, what, "1");
        await expect.poll(() => selectedName(page)).toBe("Tensor.__mul__.0.forward");
        await stateIs(page, "open", /^\d+\.\d+$/);
        await page.locator("[role=row][aria-selected=true] [data-column=problem][aria-label='__mul__ #0']").waitFor();
      }
      await page.getByRole("gridcell", { name: /^step 0, rank/ }).first().click();
      await stateIs(page, "step", "0");
    }));

  it("brings a micro-step forward", () =>
    on("micro", async (page) => {
      await page.locator("label.stepper select").selectOption("1");
      await stateIs(page, "micro", "1");
      await page.locator(".selected-name").waitFor();
    }));

  it("works on a comparison of 100,000 nodes a side, in answers of at most 300 KB", async () => {
    const { page, complaints } = await open(`${places.standalone}index.html`);
    await chooseFile(page, "large/large.vis.db", LARGE_MS);
    await expect.poll(() => page.locator(".diff-head .muted").first().innerText()).toMatch(/^100\d{3} nodes/);
    await page.keyboard.press("f");
    await page.locator(".value-table").waitFor();
    await page.keyboard.press("e");
    await page.locator("#search").fill("layers.7.");
    await page.locator(".table-row").first().waitFor();
    await page.keyboard.press("Enter");
    await expect.poll(() => selectedName(page)).toContain("layers.7.");
    await page.keyboard.press("Escape");
    await page.keyboard.press("Escape");
    await tab(page, "Outline");
    await page.getByRole("treeitem", { selected: true }).waitFor();
    const sizes = await page.evaluate(() =>
      performance
        .getEntriesByType("resource")
        .filter(({ name }) => name.includes("/api/"))
        .map((entry) => (entry as PerformanceResourceTiming).encodedBodySize),
    );
    expect(sizes.length).toBeGreaterThan(8);
    expect(Math.max(...sizes)).toBeLessThan(300_000);
    expect(complaints).toEqual([]);
    await page.context().close();
  }, LARGE_MS);
});
