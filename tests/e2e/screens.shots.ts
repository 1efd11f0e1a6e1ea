/* Takes pictures of the page at three sizes, light and dark, in both languages. Those in English at two
 * sizes and some in Chinese are the documentation's; the others go to build/screenshots, to be looked at. */
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { BrowserContextOptions, Page } from "playwright-core";
import { afterAll, beforeAll, describe, inject, it } from "vitest";

import { en } from "../../tb_graph_ascend/frontend/src/i18n/en";
import { zh } from "../../tb_graph_ascend/frontend/src/i18n/zh";
import { leave, neutralise } from "./neutral";
import { addressOf, graphsShown, openBlank, pick, withBrowser } from "./page";
import { ROOT, python } from "./setup";

withBrowser();
const places = inject("places");
const DOCUMENTATION = join(ROOT, "docs/screenshots");
const OTHERS = join(ROOT, "build/screenshots");
const SETTLE_MS = 900;
/** Three processes that import torch: ten seconds, and minutes on a machine that is busy. */
const EXAMPLE_MS = 600_000;

interface Screen {
  database: string;
  /** What the address says beside the database. */
  state?: string;
  enter: (page: Page, texts: typeof en) => Promise<void>;
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
    enter: async (page, texts) => {
      await page.keyboard.press("f");
      await page.locator(".value-table").waitFor();
      await page.keyboard.press("ArrowDown");
      await page.waitForTimeout(SETTLE_MS);
      await page.getByRole("tab", { name: texts.tabs.pictures }).click();
      await page.locator("figure").first().waitFor();
    },
  },
  mapping: {
    database: "mapping",
    enter: async (page, texts) => {
      await pick(page, "Module.layers.0.mlp.MLP.forward.0", texts);
      await pick(page, "Module.layers.0.ffn.MLP.forward.0", texts);
      await page.getByRole("button", { name: texts.mapping.map, exact: true }).click();
      await page.locator(".mapped li button").first().click();
      await pick(page, "Module.layers.1.mlp.MLP.forward.0", texts);
      await pick(page, "Module.layers.1.ffn.MLP.forward.0", texts);
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
      await page.keyboard.press("4");
    },
  },
  graph: {
    database: "tensor",
    enter: async (page) => {
      await page.keyboard.press("f");
      await page.locator(".value-table").waitFor();
      await page.keyboard.press("v");
      await page.locator(".boxes-frame").waitFor();
    },
  },
  parallel: {
    database: "parallel",
    enter: async (page) => {
      await page.keyboard.press("f");
      await page.locator(".value-table").waitFor();
      await page.locator(".value-table button[aria-expanded=false]").first().click();
      await page.locator(".shards").scrollIntoViewIfNeeded();
    },
  },
  single: { database: "single", enter: (page) => page.keyboard.press("e") },
  failed: { database: "failed", state: "&step=1&rank=1", enter: () => Promise.resolve() },
  empty: { database: "", enter: () => Promise.resolve() },
};

/** Pictures of the Chinese documents. */
const CHINESE = new Set(["first", "graph"]);
const SIZES = [
  { width: 1440, height: 900 },
  { width: 1024, height: 700 },
  { width: 2560, height: 1440 },
];
const LANGUAGES = [
  { locale: "en-US", texts: en },
  { locale: "zh-CN", texts: zh },
];

beforeAll(() => void python(["-m", "tests.e2e.parallel_example", join(places.logdir, "parallel")]), EXAMPLE_MS);

afterAll(() => {
  for (const folder of [DOCUMENTATION, OTHERS]) python(["-m", "tests.e2e.shrink", folder]);
});

describe.each(["light", "dark"] as const)("%s", (colorScheme) => {
  describe.each(LANGUAGES)("$locale", ({ locale, texts }) => {
    it.each(Object.entries(SCREENS))("%s", async (name, { database, state, enter }) => {
      for (const viewport of SIZES) {
        const page = await shown(database, state, { colorScheme, locale, viewport });
        await enter(page, texts);
        await page.waitForTimeout(SETTLE_MS);
        const folder = folderOf(name, locale, `${viewport.width}-${colorScheme}`);
        mkdirSync(folder, { recursive: true });
        await page.screenshot({ path: join(folder, `${name}.png`) });
        await leave(page);
      }
    });
  });
});

/** Where a picture goes. */
function folderOf(name: string, locale: string, size: string): string {
  if (locale === "en-US" && !size.startsWith("2560")) return join(DOCUMENTATION, size);
  if (locale === "zh-CN" && size === "1440-light" && CHINESE.has(name)) return join(DOCUMENTATION, "zh");
  return join(OTHERS, `${size}-${locale}`);
}

async function shown(database: string, state: string | undefined, options: BrowserContextOptions): Promise<Page> {
  rmSync(join(places.logdir, "mapping/mapping.mapping.json"), { force: true });
  const page = await openBlank(options);
  await neutralise(page, places);
  await page.goto(
    database ? await addressOf(places.standalone, database, state) : `${places.empty}index.html`,
  );
  if (database) await graphsShown(page);
  else await page.locator(".empty").waitFor();
  return page;
}
