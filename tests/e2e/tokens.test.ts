/* A trainer beside an engine: at which tokens it begins, on the card and at the values of a module. */
import type { Locator } from "playwright-core";
import { describe, expect, it } from "vitest";

import { on, selectedName, withBrowser } from "./page";

withBrowser();

const caption = (line: Locator) => line.locator("figcaption").innerText();
const place = (text: string): string | undefined => /request \d+, position \d+/.exec(text)?.[0];

describe("tokens", () => {
  it("are cells on the card of a cause, the first that is apart outlined as the sentence names it", () =>
    on("tokens", async (page) => {
      const card = page.locator(".findings > .finding").first();
      await expect.poll(() => card.innerText()).toContain("first at request");
      const line = page.locator(".findings .token-line").first();
      const [said, told] = [await caption(line), await card.innerText()];
      expect(place(said)).toBeDefined();
      expect(place(told)).toBe(place(said));
      const [apart, of] = [...(/(\d+) of (\d+)/.exec(said) ?? [])].slice(1).map(Number);
      await expect.poll(() => line.locator(".token-cell").count()).toBe(of);
      await expect.poll(() => line.locator(".token-cell.first").count()).toBe(1);
      expect(await line.locator(".token-cell.first").getAttribute("title")).toContain(place(said));
      const scores = await line.locator(".token-cell").evaluateAll((cells) => cells.map((cell) => cell.getAttribute("title") ?? ""));
      expect(scores.filter((title) => !/score 0(\.0+)?$/.test(title)).length).toBeGreaterThanOrEqual(apart ?? Infinity);
    }));

  it("are a line a value of the module that is chosen, and agree where it is fed", () =>
    on("tokens", async (page) => {
      await page.locator(".findings .finding-main").first().click();
      await expect.poll(() => selectedName(page)).toContain("self_attn");
      const lines = page.getByRole("region", { name: "Tokens" }).locator(".token-line");
      await expect.poll(() => lines.count()).toBeGreaterThan(1);
      const captions = await lines.locator("figcaption").allInnerTexts();
      expect(captions.filter((each) => each.startsWith("input.")).every((each) => place(each) === undefined)).toBe(true);
      expect(captions.some((each) => each.startsWith("output.") && place(each) !== undefined)).toBe(true);
    }));
});
