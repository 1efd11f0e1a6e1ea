/* No text is cut: at every size each list, panel and picture shows its texts whole, or tells the rest on hover. */
import { describe, expect, it } from "vitest";

import { on, rest, withBrowser } from "./page";
import { SIZES, cutTexts } from "./uncut";

withBrowser();

const LISTS = ["1", "2", "3", "4", "5"] as const;
const PANELS = ["Values", "Way to the cause", "Stack", "Communication"] as const;

describe("no text is cut", () => {
  it.each(SIZES)("at $width × $height", (viewport) =>
    on(
      "causes",
      async (page) => {
        const cut: string[] = [];
        const look = async (state: string): Promise<void> => {
          await rest(page);
          cut.push(...(await cutTexts(page)).map((text) => `${state}: ${text}`));
        };
        await page.keyboard.press("f");
        await look("first screen");
        for (const key of LISTS) {
          await page.keyboard.press(key);
          await look(`list ${key}`);
        }
        for (const panel of PANELS) {
          await page.getByRole("tab", { name: panel, exact: true }).click();
          await look(panel);
        }
        await page.locator("canvas.diff-canvas").focus();
        await page.keyboard.press("v");
        await page.locator(".boxes-frame .box").first().waitFor();
        await look("graph");
        expect(cut).toEqual([]);
      },
      { viewport },
    ),
  );

  it("and a text that is would be seen", () =>
    on("causes", async (page) => {
      await page.evaluate(() => {
        const box = document.createElement("p");
        box.textContent = "a sentence that is far longer than the room it has";
        box.style.cssText = "position:fixed;top:0;left:0;width:40px;white-space:nowrap;overflow:hidden;text-overflow:ellipsis";
        document.body.append(box);
      });
      expect((await cutTexts(page)).join()).toContain("far longer than the room");
      await page.evaluate(() => document.querySelector("body > p")?.setAttribute("title", "a sentence that is far longer than the room it has"));
      expect((await cutTexts(page)).join()).not.toContain("far longer than the room");
    }));
});
