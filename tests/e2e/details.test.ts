/* The lower panel: values, stacks, pictures, the node elsewhere, and whom it communicates with. */
import { describe, expect, it } from "vitest";

import { on, query, selectedName, stateIs, tab, withBrowser } from "./page";

withBrowser();

describe("details", () => {
  it("show four digits, all digits on hover, and every measure", () =>
    on("tensor", async (page) => {
      await page.keyboard.press("f");
      await expect.poll(() => selectedName(page)).toContain("__mul__");
      await page.keyboard.press("ArrowDown");
      await expect.poll(() => selectedName(page)).toContain("fc2");
      const number = page.locator(".digits").first();
      const full = (await number.getAttribute("title")) ?? "";
      expect(full.length).toBeGreaterThan((await number.innerText()).length);
      await page.getByRole("button", { name: /All measures of output/ }).click();
      const table = await page.locator(".measure-tables").innerText();
      for (const name of ["max", "mean", "Cosine"]) expect(table).toContain(name);
    }));

  it("show the stack of both sides with its source lines, to be copied", () =>
    on(
      "tensor",
      async (page) => {
        await page.keyboard.press("f");
        await expect.poll(() => selectedName(page)).toContain("__mul__");
        await page.keyboard.press("ArrowUp");
        await expect.poll(() => selectedName(page)).toContain("gelu");
        await tab(page, "Stack");
        expect(await page.locator(".stacks section").count()).toBe(2);
        expect(await page.locator(".stacks").innerText()).toMatch(/model_dump\.py:\d+ forward\s+y = F\.gelu/);
        await page.getByRole("button", { name: "Copy the stack" }).first().click();
        const copied = await page.evaluate(() => navigator.clipboard.readText());
        expect(copied).toContain("/job/model_dump.py");
      },
      { permissions: ["clipboard-read", "clipboard-write"] },
    ));

  it("open a joined value into its ranks, the wrong one marked", () =>
    on("joined", async (page) => {
      await page.keyboard.press("f");
      await expect.poll(() => selectedName(page)).toContain("Linear");
      await page.getByRole("button", { name: /All measures of output/ }).click();
      const shards = page.getByRole("region", { name: "Ranks of the problem run" });
      await expect.poll(() => shards.innerText()).toContain("this value on 2 ranks");
      expect(await shards.innerText()).toContain("tp 2: the same on all");
      const guilty = shards.locator("tbody tr", { hasText: "differs" });
      expect(await guilty.count()).toBe(1);
      expect(await guilty.innerText()).toMatch(/^1\s*differs\s+tp 1\s/);
    }));

  it("name the ranks a call communicates with, and jump to them", () =>
    on("ranks", async (page) => {
      await query(page, "Distributed.send");
      await page.locator(".table-row").first().click();
      await expect.poll(() => selectedName(page)).toContain("Distributed.send");
      await tab(page, "Communication");
      await page.getByRole("button", { name: "Go to rank 1" }).click();
      await stateIs(page, "rank", "1");
      await expect.poll(() => selectedName(page)).toContain("Distributed.recv");
    }));

  it("draw histograms, the place of the error, and the node elsewhere", async () => {
    await on("tensor", async (page) => {
      await page.keyboard.press("f");
      await expect.poll(() => selectedName(page)).toContain("__mul__");
      await page.keyboard.press("ArrowDown");
      await expect.poll(() => selectedName(page)).toContain("fc2");
      await tab(page, "Pictures");
      await page.locator(".plot canvas").first().waitFor();
      expect(await page.locator("figure").count()).toBe(3);
    });
    await on("ranks", async (page) => {
      await page.keyboard.press("f");
      await expect.poll(() => selectedName(page)).toContain("__mul__");
      await page.keyboard.press("ArrowDown");
      await expect.poll(() => selectedName(page)).toContain("fc2");
      await tab(page, "Steps & ranks");
      await expect.poll(() => page.locator(".across button.cell").count()).toBe(4);
      await page.getByRole("button", { name: /^step 1, rank 1: score/ }).click();
      await stateIs(page, "step", "1");
      await stateIs(page, "rank", "1");
      await expect.poll(() => selectedName(page)).toContain("fc2");
    });
  });
});
