/* Takes the pictures of the documentation, at two sizes, light and dark. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { describe, inject, it } from "vitest";

import { addressOf, graphsShown, open, withBrowser } from "./page";
import { ROOT } from "./setup";

withBrowser();
const places = inject("places");
const FOLDER = join(ROOT, "docs/screenshots");
const SETTLE_MS = 900;

interface Screen {
  database: string;
  enter: (page: Page) => Promise<void>;
}

const SCREENS: Record<string, Screen> = {
  matrix: { database: "ranks", enter: () => Promise.resolve() },
  divergence: {
    database: "tensor",
    enter: async (page) => {
      await page.keyboard.press("f");
      await page.locator(".value-table").waitFor();
      await page.keyboard.press("ArrowDown");
    },
  },
  pictures: {
    database: "tensor",
    enter: async (page) => {
      await page.keyboard.press("f");
      await page.locator(".value-table").waitFor();
      await page.keyboard.press("ArrowDown");
      await page.waitForTimeout(SETTLE_MS);
      await page.getByRole("tab", { name: "Pictures" }).click();
      await page.locator("figure").first().waitFor();
    },
  },
  mapping: {
    database: "mapping",
    enter: async (page) => {
      await page.keyboard.press("4");
      await page.getByRole("button", { name: "Use Module.layers.0.mlp.MLP.forward.0" }).click();
      await page.keyboard.press("4");
      await page.getByRole("button", { name: "Use Module.layers.0.ffn" }).first().click();
    },
  },
  search: {
    database: "tensor",
    enter: async (page) => {
      await page.keyboard.press("/");
      await page.keyboard.type("mlp");
      await page.locator(".search-hits .row").first().waitFor();
      await page.keyboard.press("Enter");
    },
  },
  overflow: {
    database: "nan",
    enter: async (page) => {
      await page.keyboard.press("f");
      await page.locator(".value-table").waitFor();
      await page.keyboard.press("o");
      await page.keyboard.press("3");
    },
  },
  single: { database: "single", enter: (page) => page.keyboard.press("e") },
  failed: {
    database: "failed",
    enter: (page) => page.getByRole("button", { name: "step 1, rank 1: failed" }).click(),
  },
  empty: { database: "", enter: () => Promise.resolve() },
};

const SIZES = [
  { width: 1440, height: 900 },
  { width: 1024, height: 700 },
];

describe.each(["light", "dark"] as const)("%s", (colorScheme) => {
  it.each(Object.entries(SCREENS))("%s", async (name, { database, enter }) => {
    for (const viewport of SIZES) {
      const url = database
        ? await addressOf(places.standalone, database)
        : `${places.empty}index.html`;
      const { page } = await open(url, { colorScheme, viewport });
      if (database) await graphsShown(page);
      else await page.locator(".empty").waitFor();
      await enter(page);
      await page.waitForTimeout(SETTLE_MS);
      const folder = join(FOLDER, `${viewport.width}-${colorScheme}`);
      mkdirSync(folder, { recursive: true });
      await page.screenshot({ path: join(folder, `${name}.png`) });
      await page.context().close();
    }
  });
});
