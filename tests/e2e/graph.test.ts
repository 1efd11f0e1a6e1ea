/* The panes: open, close, zoom, pan, minimap, both sides together, and the colours. */
import type { Page } from "playwright-core";
import { PNG } from "pngjs";
import { describe, expect, inject, it } from "vitest";

import { OVERFLOW_SCORE } from "../../tb_graph_ascend/frontend/src/graph/appearance";
import { rampColor } from "../../tb_graph_ascend/frontend/src/graph/ramp";
import { on, stateIs, tab, withBrowser } from "./page";

withBrowser();
const places = inject("places");
/** A box of this many pixels of one colour is no accident. */
const BOX_PX = 300;

/** Scale and world position of the problem pane's corner, as the link has them. */
async function viewOf(page: Page): Promise<[number, number, number]> {
  await page.waitForTimeout(500);
  const [scale = 1, x = 0, y = 0] = (new URL(page.url()).searchParams.get("view") ?? "").split(",").map(Number);
  return [scale, x, y];
}

async function boxOf(page: Page, selector: string) {
  const box = await page.locator(selector).first().boundingBox();
  if (!box) throw new Error(`${selector} is not on the page`);
  return box;
}

const CANVAS = "canvas[data-side=problem]";

describe("graph", () => {
  it("opens and closes both sides together, or one alone", () =>
    on("tensor", async (page) => {
      await tab(page, "Outline");
      await page.getByRole("treeitem", { name: /layers\.0/ }).first().click();
      await page.keyboard.press("Enter");
      await stateIs(page, "open", "4");
      await stateIs(page, "openb", "4");
      await page.locator(CANVAS).focus();
      await page.keyboard.press("s");
      await page.keyboard.press("Enter");
      await expect.poll(() => new URL(page.url()).searchParams.get("open")).toBeNull();
      await stateIs(page, "openb", "4");
      await stateIs(page, "sync", "0");
    }));

  it("selects by a click, opens by a double click, the partner with it", () =>
    on("tensor", async (page) => {
      const canvas = page.locator(CANVAS);
      const { width } = await boxOf(page, CANVAS);
      // The fitted graph has two columns; layers.1 is the third of the right one.
      const position = { x: width * 0.6, y: 220 };
      await canvas.click({ position });
      await page.locator(".selected-name").waitFor();
      await canvas.dblclick({ position });
      await expect.poll(() => new URL(page.url()).searchParams.get("open")).not.toBeNull();
      const { searchParams } = new URL(page.url());
      expect(searchParams.get("openb")).toBe(searchParams.get("open"));
    }));

  it("expands all below, collapses all, and fits all of it", () =>
    on("tensor", async (page) => {
      await page.keyboard.press("e");
      await stateIs(page, "open", /\(/);
      await page.locator(CANVAS).hover();
      await page.mouse.wheel(0, 400);
      await stateIs(page, "view", /,/);
      await page.keyboard.press("0");
      await expect.poll(() => new URL(page.url()).searchParams.get("view")).toBeNull();
      await page.keyboard.press("c");
      await expect.poll(() => new URL(page.url()).searchParams.get("open")).toBeNull();
    }));

  it("zooms under the pointer and pans with it, the other side too", () =>
    on("tensor", async (page) => {
      const box = await boxOf(page, CANVAS);
      const [px, py] = [230, 170];
      await page.mouse.move(box.x + px, box.y + py);
      await page.mouse.wheel(0, 5);
      const [s0, x0, y0] = await viewOf(page);
      await page.keyboard.down("Control");
      await page.mouse.wheel(0, -200);
      await page.keyboard.up("Control");
      const [s1, x1, y1] = await viewOf(page);
      expect(s1).toBeGreaterThan(s0 * 1.2);
      expect(Math.abs(x0 + px / s0 - (x1 + px / s1))).toBeLessThan(1);
      expect(Math.abs(y0 + py / s0 - (y1 + py / s1))).toBeLessThan(1);
      const other = await page.locator("canvas[data-side=benchmark]").screenshot();
      await page.mouse.down();
      await page.mouse.move(box.x + px - 40, box.y + py - 60, { steps: 4 });
      await page.mouse.up();
      const [s2, x2, y2] = await viewOf(page);
      expect([s2, Math.round((x2 - x1) * s1), Math.round((y2 - y1) * s1)]).toEqual([s1, 40, 60]);
      expect((await page.locator("canvas[data-side=benchmark]").screenshot()).equals(other)).toBe(false);
    }));

  it("has its minimap beside the nodes, and moves by it", () =>
    on("tensor", async (page) => {
      await page.keyboard.press("f");
      await stateIs(page, "view", /,/);
      const [canvas, minimap] = [await boxOf(page, CANVAS), await boxOf(page, ".minimap")];
      expect(minimap.x).toBeGreaterThanOrEqual(canvas.x + canvas.width);
      const [, , before] = await viewOf(page);
      await page.mouse.move(minimap.x + 15, minimap.y + minimap.height - 20);
      await page.mouse.down();
      await page.mouse.up();
      const [, , after] = await viewOf(page);
      expect(after).not.toBe(before);
    }));

  it("shows a single graph, and the error of a pair that failed", async () => {
    await on("single", async (page) => {
      expect(await page.locator("canvas[data-side]").count()).toBe(1);
      expect(await page.locator(".panel-content").first().innerText()).toContain("one graph");
    });
    await on("failed", async (page) => {
      await page.getByRole("button", { name: "step 1, rank 1: failed" }).click();
      await page.locator(".pair-failed").waitFor();
      expect(await page.locator(".pair-failed pre").innerText()).toContain("dump.json");
    });
  });
});

describe("colours", () => {
  it.each(["light", "dark"] as const)("are the ramp's, in %s alike", (colorScheme) =>
    on(
      "tensor",
      async (page) => {
        const scores = await rootScores(page);
        expect(scores.length).toBeGreaterThan(5);
        const counted = await coloursOf(page);
        const pale = scores.filter((score) => (counted.get(rampColor(score)) ?? 0) < BOX_PX);
        expect(pale).toEqual([]);
      },
      { colorScheme },
    ));

  it("are those of the overflow levels when asked for", () =>
    on("nan", async (page) => {
      const high = rampColor(OVERFLOW_SCORE.high);
      expect((await coloursOf(page)).get(high) ?? 0).toBeLessThan(BOX_PX);
      await page.keyboard.press("o");
      await stateIs(page, "colour", "overflow");
      await expect.poll(async () => (await coloursOf(page)).get(high)).toBeGreaterThan(BOX_PX);
    }));

  it("tell what they mean in the legend, with counts", () =>
    on("ranks", async (page) => {
      const legend = await page.locator(".legend").innerText();
      expect(legend).toMatch(/0\s+1\s+130 divergent\s+2 unmatched/);
    }));
});

/** Scores of the boxes that are on screen at first: the root's children. */
async function rootScores(page: Page): Promise<number[]> {
  const db = new URL(page.url()).searchParams.get("db") ?? "";
  const base = `${places.standalone}api/databases/${encodeURIComponent(db)}`;
  const json = async (url: string): Promise<unknown> => (await fetch(url)).json();
  const pair = (await json(`${base}/pairs/0/0`)) as { problem: { root: { id: number } } };
  const { children } = (await json(`${base}/nodes/${pair.problem.root.id}/children`)) as {
    children: { score: number | null; match: number | null }[];
  };
  return children.filter(({ match }) => match !== null).flatMap(({ score }) => (score === null ? [] : [score]));
}

/** How often each colour occurs in the problem pane, as the ramp writes colours. */
async function coloursOf(page: Page): Promise<Map<string, number>> {
  const { data } = PNG.sync.read(await page.locator(CANVAS).screenshot());
  const counted = new Map<string, number>();
  for (let at = 0; at < data.length; at += 4) {
    const name = `rgb(${data[at]} ${data[at + 1]} ${data[at + 2]})`;
    counted.set(name, (counted.get(name) ?? 0) + 1);
  }
  return counted;
}
