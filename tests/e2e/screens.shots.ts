/* Takes the pictures of the documentation, at two sizes, light and dark. */
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, describe, inject, it } from "vitest";

import { leave, neutralise } from "./neutral";
import { addressOf, graphsShown, openBlank, pick, withBrowser } from "./page";
import { ROOT, python } from "./setup";

withBrowser();
const places = inject("places");
const FOLDER = join(ROOT, "docs/screenshots");
const SETTLE_MS = 900;

interface Screen {
  database: string;
  enter: (page: Page) => Promise<void>;
}

const SCREENS: Record<string, Screen> = {
  first: { database: "tensor", enter: () => Promise.resolve() },
  ranks: { database: "ranks", enter: () => Promise.resolve() },
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
      await pick(page, "Module.layers.0.mlp.MLP.forward.0");
      await pick(page, "Module.layers.0.ffn.MLP.forward.0");
      await page.getByRole("button", { name: "Map", exact: true }).click();
      await page.locator(".mapped li button").first().click();
      await pick(page, "Module.layers.1.mlp.MLP.forward.0");
      await pick(page, "Module.layers.1.ffn.MLP.forward.0");
    },
  },
  search: {
    database: "tensor",
    enter: async (page) => {
      await page.keyboard.press("/");
      await page.keyboard.type("mlp");
      await page.locator(".table-row").first().waitFor();
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
    enter: (page) => page.getByRole("gridcell", { name: "step 1, rank 1: failed" }).click(),
  },
  empty: { database: "", enter: () => Promise.resolve() },
};

const SIZES = [
  { width: 1440, height: 900 },
  { width: 1024, height: 700 },
];

afterAll(() => void python(["-m", "tests.e2e.shrink", FOLDER]));

describe.each(["light", "dark"] as const)("%s", (colorScheme) => {
  it.each(Object.entries(SCREENS))("%s", async (name, { database, enter }) => {
    for (const viewport of SIZES) {
      const url = database
        ? await addressOf(places.standalone, database)
        : `${places.empty}index.html`;
      rmSync(join(places.logdir, "mapping/mapping.mapping.json"), { force: true });
      const page = await openBlank({ colorScheme, viewport });
      await neutralise(page, places);
      await page.goto(url);
      if (database) await graphsShown(page);
      else await page.locator(".empty").waitFor();
      await enter(page);
      await page.waitForTimeout(SETTLE_MS);
      const folder = join(FOLDER, `${viewport.width}-${colorScheme}`);
      mkdirSync(folder, { recursive: true });
      await page.screenshot({ path: join(folder, `${name}.png`) });
      await leave(page);
    }
  });
});
