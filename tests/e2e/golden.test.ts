/* Five screens look as they did: at most one pixel in 2,000 may differ from the picture kept here, which is 358, or
 * nine letters: the Chinese letter of the language button, drawn without a font for it, differs in 44.
 * UPDATE_GOLDEN=1 draws the pictures anew. They hold for the fonts named beside them only, so on a
 * machine with others the comparison is skipped and says so. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { describe, expect, inject, it } from "vitest";

import { leave, neutralise } from "./neutral";
import { addressOf, graphsShown, openBlank, rest, selectedName, withBrowser } from "./page";
import { differing } from "./pictures";

withBrowser();
const places = inject("places");
const FOLDER = join(import.meta.dirname, "golden");
const FONTS = join(FOLDER, "fonts.json");
const UPDATE = process.env.UPDATE_GOLDEN === "1";
const MOST_DIFFERING = 1 / 2000;
const STILL_MS = 250;
const TRIES = 20;

interface Screen {
  database: string | null;
  colorScheme: "light" | "dark";
  enter?: (page: Page) => Promise<void>;
}

const SCREENS: Record<string, Screen> = {
  first: { database: "tensor", colorScheme: "light" },
  ranks: { database: "ranks", colorScheme: "dark" },
  divergence: { database: "tensor", colorScheme: "light", enter: toFault },
  overflow: {
    database: "nan",
    colorScheme: "dark",
    enter: async (page) => {
      await page.keyboard.press("o");
      await page.keyboard.press("4");
      await page.locator(".row").first().waitFor();
    },
  },
  empty: { database: null, colorScheme: "light" },
};

describe("golden screenshots", () => {
  it.for(Object.entries(SCREENS))("%s", async ([name, screen], { skip }) => {
    const page = await shown(screen);
    const drawn = await still(page);
    const fonts = await fontWidths(page);
    await leave(page);
    const path = join(FOLDER, `${name}.png`);
    if (UPDATE) {
      mkdirSync(FOLDER, { recursive: true });
      writeFileSync(path, drawn);
      writeFileSync(FONTS, `${JSON.stringify(fonts)}\n`);
    }
    expect(existsSync(path), `${path}: missing; UPDATE_GOLDEN=1 draws it`).toBe(true);
    const known = readFileSync(FONTS, "utf8").trim();
    skip(JSON.stringify(fonts) !== known, `drawn with fonts of widths ${known}, here ${fonts.join()}`);
    expect(differing(drawn, readFileSync(path))).toBeLessThanOrEqual(MOST_DIFFERING);
  });
});

async function shown({ database, colorScheme, enter }: Screen): Promise<Page> {
  const page = await openBlank({ colorScheme, viewport: { width: 1024, height: 700 } });
  await neutralise(page, places);
  const url = database === null ? `${places.empty}index.html` : await addressOf(places.standalone, database);
  await page.goto(url);
  if (database === null) await page.locator(".empty .build-form").waitFor();
  else await graphsShown(page);
  await enter?.(page);
  await rest(page);
  return page;
}

async function toFault(page: Page): Promise<void> {
  await page.keyboard.press("f");
  await expect.poll(() => selectedName(page)).toContain("__mul__");
  await page.keyboard.press("ArrowDown");
  await expect.poll(() => selectedName(page)).toContain("fc2");
  await page.locator(".value-table").waitFor();
}

/** The picture once two in a row are the same: nothing loads or moves any more. */
async function still(page: Page): Promise<Buffer> {
  let before = await page.screenshot({ caret: "hide" });
  for (let tries = 0; tries < TRIES; tries += 1) {
    await page.waitForTimeout(STILL_MS);
    const now = await page.screenshot({ caret: "hide" });
    if (now.equals(before)) return now;
    before = now;
  }
  throw new Error("the page does not come to rest");
}

/** Widths of a text in the page's fonts: another font or version of it gives other widths. */
function fontWidths(page: Page): Promise<number[]> {
  return page.evaluate(() => {
    const style = getComputedStyle(document.documentElement);
    const context = document.createElement("canvas").getContext("2d");
    if (!context) throw new Error("no canvas");
    return ["--font", "--mono"].map((family) => {
      context.font = `100px ${style.getPropertyValue(family)}`;
      return Math.round(context.measureText("Module.layers.1.mlp 0123 →").width);
    });
  });
}
