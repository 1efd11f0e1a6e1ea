/* Building in the page: progress while it runs, a cancel that ends it, errors in full, the result opened. */
import { existsSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { describe, expect, inject, it } from "vitest";

import { serious } from "./axe";
import { open, selectedName, withBrowser } from "./page";

withBrowser();
const places = inject("places");
const build = (page: Page) => page.getByRole("button", { name: "Build", exact: true });
const status = (page: Page) => page.locator(".build-progress [role=status]").innerText();
const results = () => readdirSync(places.buildingFolder).filter((name) => name.includes(".vis.db"));

/** Choose both sides by the part of the path that tells them apart. */
async function choose(page: Page, folder: string): Promise<void> {
  const choices = page.locator(".build-form select");
  const offered = () => choices.first().locator("option").allInnerTexts();
  // The form is there before the server has said which dumps there are.
  await expect.poll(offered).toContainEqual(expect.stringContaining(`${folder}/problem `));
  const dumps = await offered();
  for (const [index, side] of ["problem", "bench"].entries()) {
    const label = dumps.find((one) => one.includes(`${folder}/${side} `));
    if (label === undefined) throw new Error(`${folder}/${side} is not offered in ${dumps.join("; ")}`);
    await choices.nth(index).selectOption({ label });
  }
}

/** How many canvases of rows there are, after a reload. */
async function shownAnew(page: Page): Promise<number> {
  await page.reload();
  const rows = page.locator("canvas.diff-canvas");
  await rows.or(page.locator(".build-form")).first().waitFor();
  return rows.count();
}

describe("building", () => {
  it("shows progress, is cancelled, fails in words, and opens what it built", async () => {
    const { page, complaints } = await open(`${places.building}index.html`);
    await page.getByRole("heading", { name: "No result files yet" }).waitFor();
    const text = await page.locator(".empty").innerText();
    expect(text).toContain("msprobe graph_visualize");
    expect(text).toContain("<name>.vis.db");
    expect(text).toContain(places.buildingFolder);

    await choose(page, "long");
    await build(page).click();
    await expect.poll(() => status(page), { timeout: 30_000 }).toMatch(/Building [1-9]\d* of 30 pairs/);
    await page.getByRole("button", { name: "Cancel the build" }).click();
    await expect.poll(() => status(page)).toMatch(/^Cancelled/);
    // What it had written goes once its processes have ended.
    await expect.poll(results).toEqual([]);

    await choose(page, "dumps");
    await page.getByLabel("Layer mapping file (-lm)").fill("nowhere.yaml");
    await build(page).click();
    await page.locator(".failure, .build-progress .refused").first().waitFor();
    await expect.poll(() => page.locator(".build-form").innerText()).toContain("nowhere.yaml");
    expect(complaints.splice(0).join()).toMatch(/^(|.*40\d.*)$/);

    await page.getByLabel("Layer mapping file (-lm)").fill("");
    await page.getByLabel("Overflow levels (-oc)").check();
    await build(page).click();
    await page.locator("canvas.diff-canvas").waitFor({ timeout: 40_000 });
    await page.keyboard.press("f");
    await expect.poll(() => selectedName(page)).toContain("__mul__");
    await page.getByRole("tab", { name: "Overflow" }).click();
    await expect.poll(() => page.locator(".command").count()).toBe(0);
    expect(results()).toHaveLength(1);
    expect(existsSync(join(places.buildingFolder, results()[0] ?? ""))).toBe(true);
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  it("says of one pair what is being done with it, and is cancelled in the middle of it", async () => {
    const { page, complaints } = await open(`${places.building}index.html`);
    const before = results();
    if (before.length > 0) {
      // A file that has just been built may be listed a moment later: until then the form stands in the page.
      await expect.poll(() => shownAnew(page), { timeout: 30_000 }).toBe(1);
      await page.locator(".header-tools > .icon").first().click();
    }
    await choose(page, "held");
    await build(page).click();
    const pair = page.locator(".build-pairs li");
    await expect.poll(() => pair.allInnerTexts(), { timeout: 30_000 }).toEqual([
      "step 0 · rank 0: reading the dumps (1 of 5)",
    ]);
    await expect.poll(() => status(page)).toMatch(/^Building 0 of 1 pairs$/);
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      expect(await serious(page, `a build under way, ${colorScheme}`)).toEqual([]);
    }
    await page.getByRole("button", { name: "Cancel the build" }).click();
    await expect.poll(() => status(page)).toMatch(/^Cancelled/);
    await expect.poll(() => pair.count()).toBe(0);
    await expect.poll(results).toEqual(before);

    await build(page).click();
    await expect.poll(() => pair.count(), { timeout: 30_000 }).toBe(1);
    const rank = join(places.buildingFolder, "held/problem/step0/rank0");
    rmSync(join(rank, "stack.json.held"));
    // The rows of what was open before stand behind the form until the new file is opened.
    await expect.poll(results, { timeout: 40_000 }).toHaveLength(before.length + 1);
    await page.locator(".build-form").waitFor({ state: "hidden", timeout: 40_000 });
    await page.locator("canvas.diff-canvas").waitFor({ timeout: 40_000 });
    expect(complaints).toEqual([]);
    await page.context().close();
  });
});
