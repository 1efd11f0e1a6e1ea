/* The outline: the modules as a tree of their own; and the flow of files that do not say it themselves. */
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";

import { on, query, selectedName, tab, withBrowser } from "./page";

withBrowser();

const titles = (page: Page) => page.getByRole("treeitem").evaluateAll((rows) => rows.map((row) => row.getAttribute("title") ?? ""));
const onRow = (page: Page) =>
  page.getByRole("tree").evaluate((tree) => {
    const row = document.getElementById(tree.getAttribute("aria-activedescendant") ?? "");
    return row === null ? "" : `${row.title} ${row.getAttribute("aria-expanded") ?? ""}`.trim();
  });

describe("outline", () => {
  it("is walked by keys: open, close, letters ahead, Enter goes there", () =>
    on("tensor", async (page) => {
      await page.keyboard.press("2");
      const tree = page.getByRole("tree");
      // What is selected takes the keys along; until it is, they would be taken away again.
      await page.getByRole("treeitem", { selected: true }).waitFor();
      await tree.focus();
      await page.keyboard.press("Home");
      await expect.poll(() => onRow(page)).toMatch(/^DefaultModel/);
      await page.keyboard.press("l");
      await expect.poll(() => onRow(page)).toMatch(/^layers false/);
      await page.keyboard.press("ArrowRight");
      await expect.poll(() => onRow(page)).toMatch(/^layers true/);
      await expect.poll(() => titles(page)).toEqual(["DefaultModel", "emb", "conv", "layers", "layers.0", "layers.1", "head"]);
      await page.keyboard.press("ArrowRight");
      await page.keyboard.press("ArrowDown");
      await expect.poll(() => onRow(page)).toBe("layers.1 false");
      await page.keyboard.press("Enter");
      await expect.poll(() => selectedName(page)).toMatch(/^Module\.layers\.1\.Block/);
      await expect.poll(() => page.getByRole("treeitem", { selected: true }).getAttribute("title")).toBe("layers.1");
      await page.keyboard.press("ArrowLeft");
      await expect.poll(() => onRow(page)).toBe("layers true");
      await page.keyboard.press("ArrowLeft");
      await expect.poll(() => titles(page)).toEqual(["DefaultModel", "emb", "conv", "layers", "head"]);
    }));

  it("sums up each module and shows only those that differ; a click goes there", () =>
    on("foreign", async (page) => {
      await tab(page, "Outline");
      await expect.poll(() => page.locator(".outline-tools .count").innerText()).toContain("22 modules · 4 with differences");
      await page.getByLabel("only those that differ").check();
      await expect.poll(() => titles(page)).toEqual(["DefaultModel", "layers", "layers.1", "mlp", "head"]);
      const mlp = page.getByRole("treeitem", { name: /^mlp\b.*16 nodes, 2 divergent, score 1\.00/ });
      await expect.poll(() => mlp.innerText()).toMatch(/16\s+2\s+1\.00/);
      await mlp.click();
      await expect.poll(() => selectedName(page)).toContain("layers.1.mlp");
    }));

  it("says where one stands, in the module or in what it is closed into", () =>
    on("tensor", async (page) => {
      await page.keyboard.press("2");
      await page.keyboard.press("f");
      const here = page.getByRole("treeitem", { selected: true });
      await expect.poll(() => here.getAttribute("title")).toBe("layers");
      await here.locator("svg").click();
      await expect.poll(() => here.getAttribute("title")).toBe("layers.1");
    }));
});

describe("flow", () => {
  it("of a file that msprobe built is inferred, and says so", () =>
    on("foreign", async (page) => {
      await page.getByRole("button", { name: "What the rails of the flow mean" }).click();
      await expect.poll(() => page.locator(".flow-known").innerText()).toContain("all rails are inferred from equal values");
      await page.keyboard.press("Escape");
      await query(page, "conv1d forward kind:api");
      await page.locator(".table-row").first().click();
      await expect.poll(() => selectedName(page)).toBe("Functional.conv1d.0.forward");
      const input = page.locator(".value-table tbody tr").filter({ hasText: "embedding #0" });
      await expect.poll(() => input.innerText()).toContain("equal values");
      await input.getByRole("button", { name: "Made by embedding #0: go there" }).click();
      await expect.poll(() => selectedName(page)).toBe("Functional.embedding.0.forward");
    }));

  it("lists all readers of a value", () =>
    on("foreign", async (page) => {
      await query(page, "conv1d forward kind:api");
      await page.locator(".table-row").first().click();
      const more = page.getByRole("button", { name: /^\+\d+: Show \d+ other calls? that reads? it$/ });
      await more.click();
      const readers = page.locator(".flow-list li");
      await expect.poll(() => readers.allInnerTexts()).toEqual([expect.stringContaining("__add__ #0")]);
      const output = page.locator(".value-table tbody tr").filter({ hasText: "output" });
      await expect.poll(() => output.first().innerText()).toContain("layer_norm #0");
      await readers.filter({ hasText: "__add__ #0" }).getByRole("button").click();
      await expect.poll(() => selectedName(page)).toBe("Tensor.__add__.0.forward");
    }));
});
