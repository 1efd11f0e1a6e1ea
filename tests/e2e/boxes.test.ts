/* A single graph as boxes: what its edges are known by, what is in view, and all of it by a key. */
import { describe, expect, it } from "vitest";

import { on, withBrowser } from "./page";

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
});
