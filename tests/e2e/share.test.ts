/* Handing on: the link, pictures, tables, the report; and two pages that do not disturb each other. */
import type { Page } from "playwright-core";
import { PNG } from "pngjs";
import { describe, expect, it } from "vitest";

import { downloaded, on, open, rest, selectedName, stateIs, tab, withBrowser } from "./page";

withBrowser();

function taken(page: Page, item: string) {
  return downloaded(page, async () => {
    await page.getByRole("button", { name: "Share and export" }).click();
    await page.getByRole("menuitem", { name: item, exact: true }).click();
  });
}

describe("sharing", () => {
  it("opens the same view from a copied link, in a fresh browser", () =>
    on(
      "ranks",
      async (page) => {
        await page.keyboard.press("f");
        await expect.poll(() => selectedName(page)).toContain("__mul__");
        await tab(page, "Stack");
        await tab(page, "Outline");
        await stateIs(page, "panel", "stack");
        await stateIs(page, "open", /^\d+(\.\d+)*$/);
        await page.getByRole("button", { name: "Share and export" }).click();
        await page.getByRole("menuitem", { name: "Copy the link to this view" }).click();
        await page.getByText("The link to this view is copied.").waitFor();
        const link = await page.evaluate(() => navigator.clipboard.readText());
        const second = await open(link);
        await expect.poll(() => selectedName(second.page)).toBe(await selectedName(page));
        await rest(second.page);
        // The page has written its own address by then, and it is the same.
        await expect.poll(() => second.page.evaluate(() => history.state !== null)).toBe(true);
        expect(second.page.url()).toBe(link);
        await expect.poll(() => second.page.locator(".stacks").count()).toBe(1);
        await second.page.context().close();
      },
      { permissions: ["clipboard-read", "clipboard-write"] },
    ));

  it("hands out pictures, any table, and the report", () =>
    on("ranks", async (page) => {
      await page.keyboard.press("f");
      await page.locator(".value-table").waitFor();
      for (const [item, start] of [
        ["Causes as CSV", "\ufeffid,step,rank,kind"],
        ["Values of the selected node as CSV", "\ufeffrole,path,problem type"],
        ["Matrix of steps and ranks as CSV", "\ufeffstep,rank"],
        ["Selected node in all steps and ranks as CSV", "\ufeffstep,rank"],
        ["Causes as an HTML report", "<!doctype html>"],
      ] as const) {
        const { content } = await taken(page, item);
        expect([item, content.toString().slice(0, start.length)]).toEqual([item, start]);
      }
      const table = await taken(page, "All values of this step and rank as CSV, as msprobe compare writes them");
      expect(table.name).toBe("compare_result_step0_rank0.csv");
      expect(table.content.toString()).toContain("Tensor.__mul__.0.forward");
      const findings = JSON.parse((await taken(page, "Causes as JSON")).content.toString()) as unknown[];
      expect(findings).toHaveLength(1);
      const slide = await downloaded(page, () => page.getByRole("button", { name: "Slide" }).click());
      const drawn = PNG.sync.read(slide.content);
      expect([slide.name, drawn.width, drawn.height]).toEqual(["ranks-step0-rank0-slide.png", 1920, 1080]);
      // Not a blank sheet: white, the red edge, and the dark text of the sentence.
      expect(new Set(new Uint32Array(drawn.data.buffer, drawn.data.byteOffset, drawn.data.length / 4)).size).toBeGreaterThan(50);
      const svg = (await taken(page, "Slide with the answer as SVG")).content.toString();
      for (const text of ["It begins in layers.1.mlp", "y = y * 1.7", "PROBLEM", "BENCHMARK", "step 0 · rank 0"]) {
        expect(svg).toContain(text);
      }
      const { name, content } = await taken(page, "The rows in view as PNG");
      expect(name).toBe("ranks-rows.png");
      expect(PNG.sync.read(content).width).toBeGreaterThan(300);
    }));

  it("draws the slide in the page's language, with runs and date", () =>
    on(
      "tensor",
      async (page) => {
        await page.getByRole("button", { name: "分享与导出" }).click();
        const { content } = await downloaded(page, () => page.getByRole("menuitem", { name: /SVG/ }).first().click());
        const drawn = content.toString();
        for (const text of ["差异始于 layers.1.mlp", "始于此处", "tensor/problem", "tensor/bench", "比对于 20"]) {
          expect(drawn).toContain(text);
        }
        expect(drawn).not.toContain("BEGINS");
      },
      { locale: "zh-CN" },
    ));

  it("keeps two pages on two files apart", () =>
    on("tensor", (page) =>
      on("nan", async (other) => {
        await other.keyboard.press("f");
        await expect.poll(() => selectedName(other)).toContain("log");
        await page.keyboard.press("f");
        await expect.poll(() => selectedName(page)).toContain("__mul__");
        await expect.poll(() => selectedName(other)).toContain("log");
      })));
});
