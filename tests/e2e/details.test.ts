/* The lower panel: values, stacks, pictures, the node elsewhere, and whom it communicates with. */
import { PNG } from "pngjs";
import { describe, expect, it } from "vitest";

import { on, query, rest, selectedName, stateIs, tab, withBrowser } from "./page";

withBrowser();
/** The colour of a lit rail in the light theme, --hit. */
const HIT = [176, 122, 0];

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
      for (const name of ["max", "mean", "cosine"]) expect(table).toContain(name);
      await number.click();
      // All digits, selected; what was copied before stays where it is.
      await expect.poll(() => page.evaluate(() => getSelection()?.toString())).toBe(full.split("\n")[0]);
      await expect.poll(() => page.locator(".score-told").innerText()).toMatch(/^score \d\.\d\d: relative error of the elements \d/);
    }));

  it("show of a node its own values alone, after one of which each run has what the other lacks", () =>
    on("tokens", async (page) => {
      const rows = (): Promise<string[]> => page.locator(".value-table .value-name").allInnerTexts();
      await query(page, "embed_tokens");
      await page.locator(".table-row").first().click();
      await expect.poll(() => selectedName(page)).toContain("embed_tokens");
      await rest(page);
      expect((await rows()).filter((name) => /input\s*\.0/.test(name))).toHaveLength(2);
      await page.locator(".diff-scroll").focus();
      await page.keyboard.press("ArrowDown");
      await expect.poll(() => selectedName(page)).not.toContain("embed_tokens");
      await rest(page);
      const shown = await rows();
      await tab(page, "Stack");
      await tab(page, "Values");
      await expect.poll(rows).toEqual(shown);
    }));

  it("light the rail of the value that is pointed at, and go to the call that made it", () =>
    on("tensor", async (page) => {
      await expect.poll(() => selectedName(page)).toContain("__mul__");
      const end = page.getByRole("button", { name: "Made by gelu #1: go there" });
      await end.waitFor();
      const lit = async (): Promise<number> => {
        const { data } = PNG.sync.read(await page.locator("canvas.diff-canvas").screenshot());
        let count = 0;
        for (let at = 0; at < data.length; at += 4) count += HIT.every((part, channel) => data[at + channel] === part) ? 1 : 0;
        return count;
      };
      await page.locator(".selected-name").hover();
      await expect.poll(lit).toBe(0);
      await end.hover();
      await expect.poll(lit).toBeGreaterThan(20);
      await end.click();
      await expect.poll(() => selectedName(page)).toBe("Functional.gelu.1.forward");
      await page.getByRole("button", { name: /^Read by __mul__ #0/ }).click();
      await expect.poll(() => selectedName(page)).toBe("Tensor.__mul__.0.forward");
    }));

  it("show one's own code first, frames of libraries folded, unfolded by mouse and by key", () =>
    on("statistics", async (page) => {
      await expect.poll(() => selectedName(page)).toContain("__mul__");
      await tab(page, "Stack");
      const stack = page.locator(".stacks section").first();
      const seen = async (): Promise<string[]> => {
        const frames = await stack.locator(".frame-place").all();
        const shown = await Promise.all(frames.map((frame) => frame.isVisible()));
        const titles = await Promise.all(frames.map((frame) => frame.getAttribute("title")));
        return titles.filter((_, index) => shown[index]).map((title) => title ?? "");
      };
      const own = await seen();
      expect(own[0]).toMatch(/model_dump\.py/);
      expect(own.join()).not.toMatch(/site-packages|lib\/python3/);
      const fold = stack.locator("summary").first();
      const count = Number(/\d+/.exec(await fold.innerText())?.[0]);
      await fold.click();
      const all = await seen();
      expect(all).toHaveLength(own.length + count);
      expect(all.filter((one) => !own.includes(one)).every((one) => /site-packages|lib\/python3/.test(one))).toBe(true);
      await fold.click();
      await expect.poll(() => seen()).toEqual(own);
      await page.getByRole("tab", { name: "Stack", exact: true }).focus();
      for (let presses = 0; presses < 8 && !(await fold.evaluate((one) => one === document.activeElement)); presses += 1) {
        await page.keyboard.press("Tab");
      }
      await page.keyboard.press("Enter");
      await expect.poll(() => seen()).toEqual(all);
      await page.keyboard.press("Space");
      await expect.poll(() => seen()).toEqual(own);
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
        await expect.poll(() => page.locator(".stacks section").count()).toBe(2);
        await expect.poll(() => page.locator(".stacks").innerText()).toMatch(/model_dump\.py:\d+ forward\s+y = F\.gelu/);
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
      await expect.poll(() => shards.innerText()).toContain("tp 2: the same on all");
      const guilty = shards.locator("tbody tr", { hasText: "differs" });
      await expect.poll(() => guilty.count()).toBe(1);
      await expect.poll(() => guilty.innerText()).toMatch(/^1\s*differs\s+tp 1\s/);
    }));

  it("show of an extra call what the other run passes on, why it has no chart, and the way back to it", () =>
    on("ranks", async (page) => {
      await expect.poll(() => selectedName(page)).toContain("__mul__");
      await page.getByText("What the benchmark passes on in its place").waitFor();
      const instead = page.locator(".instead tr:last-child");
      await expect.poll(() => instead.innerText()).toMatch(/input\s*\.0[\s\S]*0\.7000/);
      await tab(page, "Steps & ranks");
      await page.getByText(/^Only the problem run makes this call\. Its score [01]\.\d\d /).waitFor();
      await query(page, "head.Linear.backward");
      await page.keyboard.press("Enter");
      await expect.poll(() => selectedName(page)).toContain("head");
      await tab(page, "Way to the cause");
      const hops = page.locator(".trace li");
      await expect.poll(() => hops.count()).toBeGreaterThan(2);
      await expect.poll(() => hops.last().innerText()).toMatch(/in layers\.1\.mlp[\s\S]*it begins here/);
      await hops.last().getByRole("button").click();
      await expect.poll(() => selectedName(page)).toContain("__mul__");
    }));

  it("name the ranks a call communicates with, and jump to them", () =>
    on("ranks", async (page) => {
      await query(page, "Distributed.send");
      await page.locator(".table-row").first().click();
      await expect.poll(() => selectedName(page)).toContain("Distributed.send");
      await tab(page, "Communication");
      const members = page.locator(".members tbody tr");
      await expect.poll(() => members.locator("th").allInnerTexts()).toEqual(["0", "1"]);
      for (const row of await members.all()) await expect.poll(() => row.innerText()).toMatch(/\d\.\d\d\s*→\s*\d\.\d\d/);
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
      await expect.poll(() => page.locator("figure").count()).toBe(3);
      // It opens on the first value that differs, inputs before outputs, and so does the next node.
      await page.locator(".pictures select").selectOption({ index: 1 });
      await page.keyboard.press("f");
      await expect.poll(() => selectedName(page)).toContain("__mul__");
      await page.locator(".diff-scroll").focus();
      await page.keyboard.press("End");
      await page.keyboard.press("ArrowUp");
      await expect.poll(() => selectedName(page)).not.toContain("__mul__");
      await tab(page, "Values");
      await rest(page);
      const differing = await page.locator(".value-table tr:has(.value-name)").evaluateAll((rows) =>
        rows.flatMap((row) => {
          const name = row.querySelector<HTMLElement>(".value-name")?.innerText.replace(/\s/g, "") ?? "";
          return Number(row.lastElementChild?.textContent) > 0.25 ? [name] : [];
        }),
      );
      expect(differing).not.toEqual([]);
      await tab(page, "Pictures");
      await expect.poll(() => page.locator(".pictures select").inputValue()).toBe(differing.sort()[0]);
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
