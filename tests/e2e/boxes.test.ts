/* A single graph as boxes: what its edges are known by, what is in view, and all of it by a key. */
import { describe, expect, it } from "vitest";

import { on, stateIs, withBrowser } from "./page";

withBrowser();

describe("a graph", () => {
  it("says how its edges are known, keeps what is picked in view, and shows all by a key", () =>
    on("single", async (page) => {
      await page.locator(".boxes-frame .box").first().waitFor();
      // One run alone has no causes.
      await expect.poll(() => page.getByRole("tab", { name: "Causes" }).count()).toBe(0);
      // The dump is another tool's: nothing in it says what an input is.
      await expect.poll(() => page.locator(".box-edge[data-known=values]").count()).toBeGreaterThan(0);
      await expect.poll(() => page.locator(".box-edge[data-known=values] title").first().textContent()).toMatch(/equal values|worked out|ran next/);
      // What the run is fed stands by itself, with its shape, above the first call that reads it.
      const fed = page.locator(".box-input");
      await expect.poll(() => fed.first().innerHTML()).toMatch(/input\..*\d+×\d+/s);
      const inView = (box: string) =>
        page.locator(".boxes-frame").evaluate((frame, which) => {
          const [outer, boxes] = [frame.getBoundingClientRect(), [...frame.querySelectorAll(".box")]];
          const wanted = which === "all" ? boxes : boxes.slice(-1);
          return wanted.every((one) => {
            const { top, bottom, left, right } = one.getBoundingClientRect();
            return top >= outer.top && bottom <= outer.bottom + 1 && left >= outer.left && right <= outer.right + 1;
          });
        }, box);
      await page.locator(".boxes-frame").focus();
      await page.keyboard.press("End");
      await expect.poll(() => inView("last")).toBe(true);
      await page.keyboard.press("0");
      await expect.poll(() => inView("all")).toBe(true);
    }));

  it("has the values beside it where there is width, and below it where there is none", () =>
    on("single", async (page) => {
      const placed = async (selector: string) => (await page.locator(selector).first().boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 };
      await page.locator(".boxes-frame .box").first().waitFor();
      const [graph, beside] = [await placed(".boxes-frame"), await placed(".panel.bottom")];
      expect(beside.x).toBeGreaterThanOrEqual(graph.x + graph.width);
      expect(graph.height).toBeGreaterThan(500);
      // A key leads the focus with it, wherever that was: the next keys are of what it brought.
      await page.keyboard.press("v");
      await page.locator(".diff-scroll:focus").waitFor();
      await page.locator("canvas.diff-canvas").first().waitFor();
      expect((await placed(".panel.bottom")).y).toBeGreaterThan((await placed("canvas.diff-canvas")).y);
      await page.keyboard.press("v");
      await page.locator(".boxes-frame:focus").waitFor();
      await page.setViewportSize({ width: 1024, height: 700 });
      await expect.poll(async () => (await placed(".panel.bottom")).y >= (await placed(".boxes-frame")).y + (await placed(".boxes-frame")).height).toBe(true);
    }));

  it("runs to the right on demand, which a link keeps, and a map goes to what is not in view", () =>
    on("single", async (page) => {
      const boxes = page.locator(".boxes-frame .box");
      await boxes.first().waitFor();
      // Lanes lie beside each other where boxes run down, below each other where they run to the right.
      const lane = page.locator(".box-lane text").nth(1);
      const runs = async () => (Number(await lane.getAttribute("x")) > Number(await lane.getAttribute("y")) ? "down" : "across");
      expect(await runs()).toBe("down");
      await page.getByRole("button", { name: "From left to right" }).click();
      await expect.poll(runs).toBe("across");
      await stateIs(page, "flow", "right");
      await page.reload();
      await boxes.first().waitFor();
      await expect.poll(runs).toBe("across");
      await page.getByRole("button", { name: "From top to bottom" }).click();
      await expect.poll(runs).toBe("down");
      for (let times = 0; times < 6; times += 1) await page.keyboard.press("+");
      const map = page.locator(".box-map");
      await map.waitFor();
      const moved = () => page.locator(".boxes-frame > svg > g").first().getAttribute("transform");
      const before = await moved();
      const { width, height } = (await map.boundingBox()) ?? { width: 0, height: 0 };
      await map.click({ position: { x: width / 2, y: height - 4 } });
      expect(await moved()).not.toBe(before);
      await page.keyboard.press("0");
      await expect.poll(() => map.isVisible()).toBe(false);
    }));
});
