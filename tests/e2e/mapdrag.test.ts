/* Mapping in the rows themselves: drag across the gutter by mouse and by touch, or pick, move, pick by keys. */
import type { Page } from "playwright-core";
import { PNG } from "pngjs";
import { describe, expect, it } from "vitest";

import { Fingers, type Point } from "./fingers";
import { on, query, rest, selectedName, tab, withBrowser } from "./page";

withBrowser();
const FFN = "Module.layers.0.ffn.MLP.forward.0";

type Column = "problem" | "benchmark";
const cell = (page: Page, column: Column, label: string) =>
  page.locator(`.diff-rows [role=gridcell][data-column=${column}][aria-label="${label}"]`).first();
const ghost = (page: Page) => page.locator(".map-ghost");
const notice = (page: Page) => page.locator(".notice").innerText();
const mappedRows = (page: Page) => page.locator(".mapped li").count();

/** Show both rows that are to be mapped. */
async function renamedShown(page: Page): Promise<void> {
  await query(page, `"${FFN}"`);
  await page.locator(".table-row").first().click();
  await expect.poll(() => selectedName(page)).toBe(FFN);
  await cell(page, "benchmark", "mlp").waitFor();
}

/** The middle of a row once it stands still. */
async function middle(page: Page, column: Column, label: string): Promise<Point> {
  await rest(page);
  const box = await cell(page, column, label).boundingBox();
  if (!box) throw new Error(`${label} is not in view`);
  return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
}

/** Share of a row's pixels that are of the accent, of which frames and marks are. */
async function framed(page: Page, column: Column, label: string): Promise<number> {
  const box = await cell(page, column, label).boundingBox();
  if (!box) throw new Error(`${label} is not in view`);
  const { data } = PNG.sync.read(await page.screenshot({ clip: box }));
  let count = 0;
  for (let at = 0; at < data.length; at += 4) {
    const [red = 0, green = 0, blue = 0] = data.subarray(at, at + 3);
    if (blue > 180 && red < 90 && green < 140) count += 1;
  }
  return count / (data.length / 4);
}

async function drag(page: Page, from: Point, to: Point): Promise<void> {
  await page.mouse.move(from.x, from.y);
  await page.mouse.down();
  await page.mouse.move(from.x + 20, from.y, { steps: 2 });
  await page.mouse.move(to.x, to.y, { steps: 4 });
}

describe("mapping in the rows", () => {
  it("is dragged across the gutter: what is held and where it fits is seen, Escape lets go, undo takes back", () =>
    on("dragged", async (page) => {
      await renamedShown(page);
      const [from, to] = [await middle(page, "problem", "ffn"), await middle(page, "benchmark", "mlp")];
      const before = await framed(page, "benchmark", "mlp");
      await drag(page, from, { x: from.x + 60, y: from.y });
      await expect.poll(() => ghost(page).innerText()).toMatch(/ffn.*Take it to a row of the Benchmark side/s);
      await expect.poll(() => framed(page, "benchmark", "mlp")).toBeGreaterThan(before + 0.01);
      const offered = await framed(page, "benchmark", "mlp");
      await page.mouse.move(to.x, to.y, { steps: 4 });
      await expect.poll(() => ghost(page).innerText()).toMatch(/ffn.*Map with mlp/s);
      await expect.poll(() => framed(page, "benchmark", "mlp")).toBeGreaterThan(offered);
      await page.keyboard.press("Escape");
      await expect.poll(() => ghost(page).count()).toBe(0);
      await page.mouse.up();
      await tab(page, "Mapping");
      await expect.poll(() => mappedRows(page)).toBe(0);

      await drag(page, from, to);
      await page.mouse.up();
      await expect.poll(() => notice(page)).toContain("Mapped ffn ↔ mlp");
      await expect.poll(() => mappedRows(page)).toBe(1);
      // One row now, both sides at one height.
      await cell(page, "problem", "ffn").waitFor();
      await expect.poll(async () => (await middle(page, "problem", "ffn")).y).toBe((await middle(page, "benchmark", "mlp")).y);
      await expect.poll(() => selectedName(page)).toBe(FFN);
      await page.keyboard.press("Control+z");
      await expect.poll(() => mappedRows(page)).toBe(0);
    }));

  it("says why a row takes nothing, and maps nothing there", () =>
    on("dragged", async (page) => {
      await renamedShown(page);
      const from = await middle(page, "problem", "ffn");
      await drag(page, from, await middle(page, "benchmark", "ln2"));
      await expect.poll(() => ghost(page).innerText()).toMatch(/matched already, with .*ln2/s);
      await page.mouse.up();
      await expect.poll(() => notice(page)).toMatch(/^Not mapped: the node of the Benchmark side is matched already/);
      const own = await middle(page, "benchmark", "mlp");
      await drag(page, from, { x: own.x, y: from.y });
      await expect.poll(() => ghost(page).innerText()).toContain("the Benchmark side has no call in this row");
      await page.mouse.up();
      await drag(page, from, { x: from.x, y: own.y });
      await page.mouse.up();
      await expect.poll(() => notice(page)).toContain("let it go on a row of the Benchmark side");
      await tab(page, "Mapping");
      await expect.poll(() => mappedRows(page)).toBe(0);
    }));

  it("is dragged by a finger that rests on it first", () =>
    on("dragged", async (page) => {
      await renamedShown(page);
      const [from, to] = [await middle(page, "problem", "ffn"), await middle(page, "benchmark", "mlp")];
      const finger = await Fingers.on(page);
      await finger.down(from);
      await ghost(page).waitFor();
      for (const share of [0.3, 0.6, 1]) {
        await finger.move({ x: from.x + share * (to.x - from.x), y: from.y + share * (to.y - from.y) });
      }
      await expect.poll(() => ghost(page).innerText()).toContain("Map with mlp");
      await finger.lift();
      await expect.poll(() => notice(page)).toContain("Mapped ffn ↔ mlp");
      await page.getByRole("button", { name: "Undo" }).click();
      await expect.poll(() => mappedRows(page)).toBe(0);
    }, { hasTouch: true }));

  it("is picked by keys: M, move, M, and Escape lets a pick go", () =>
    on("dragged", async (page) => {
      await renamedShown(page);
      await page.locator(".diff-scroll").focus();
      await page.keyboard.press("m");
      await expect.poll(() => notice(page)).toMatch(/^Picked layers\.0\.ffn of the Problem side.*Benchmark.*press M again/);
      await expect.poll(() => framed(page, "benchmark", "mlp")).toBeGreaterThan(0.01);
      await page.keyboard.press("Escape");
      await expect.poll(() => framed(page, "benchmark", "mlp")).toBeLessThan(0.01);
      await page.keyboard.press("m");
      await page.keyboard.press("ArrowUp");
      await expect.poll(() => selectedName(page)).toContain("layers.0.mlp");
      await page.keyboard.press("m");
      await expect.poll(() => notice(page)).toContain("Mapped layers.0.ffn ↔ layers.0.mlp");
      await expect.poll(() => mappedRows(page)).toBe(1);
      await page.keyboard.press("Control+z");
      await expect.poll(() => mappedRows(page)).toBe(0);
    }));
});
