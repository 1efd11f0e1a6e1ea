/* The page as a whole: language, theme, keys, and what it says when something fails. */
import type { Page } from "playwright-core";
import { describe, expect, inject, it } from "vitest";

import { addressOf, downloaded, graphsShown, on, open, selectedName, withBrowser } from "./page";

withBrowser();
const places = inject("places");

/** Names of all controls that can be used now and are no part of a composite with its own keys. */
function controls(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const all = document.querySelectorAll<HTMLElement>("button, select, input, a[href], [tabindex]");
    return [...all]
      // A list of tabs hands the focus on to the tab in front.
      .filter((one) => one.tabIndex >= 0 && !one.matches(":disabled, [role=tablist]"))
      .filter((one) => one.checkVisibility())
      .map((one) => one.getAttribute("aria-label") ?? one.innerText);
  });
}

/** The middle of an element, from the top of the page. */
function middle(page: Page, selector: string): Promise<number> {
  return page
    .locator(selector)
    .first()
    .evaluate((one) => one.getBoundingClientRect().top + one.getBoundingClientRect().height / 2);
}

describe("a large screen", () => {
  it("is filled to its lower edge, badges stand on the line of what they tell of, no two buttons touch", () =>
    on(
      "ranks",
      async (page) => {
        await page.locator(".value-table").waitFor();
        for (const [badge, name] of [
          [".diff-head.problem .side-tag", ".diff-head.problem .diff-run-name"],
          [".diff-head.benchmark .side-tag", ".diff-head.benchmark .diff-run-name"],
          [".bottom-head .side-tag", ".bottom-head .selected-name"],
          [".finding-meta .tag", ".finding-meta > :last-child"],
        ] as const) {
          const apart = async () => Math.abs((await middle(page, badge)) - (await middle(page, name)));
          await expect.poll(apart, { message: `${badge} beside ${name}` }).toBeLessThanOrEqual(2);
        }
        const boxOf = (selector: string) => page.locator(selector).first().boundingBox();
        const ends = async (selector: string) => ((await boxOf(selector))?.y ?? 0) + ((await boxOf(selector))?.height ?? 0);
        await expect.poll(() => ends(".app")).toBeGreaterThanOrEqual(1440);
        await expect.poll(async () => (await boxOf(".diff-scroll"))?.height ?? 0).toBeGreaterThan(1440 / 2);
        const gaps = () =>
          page.locator(".graph-tools > .button, .answer-tools > .button").evaluateAll((buttons) => {
            const places = buttons.map((one) => one.getBoundingClientRect());
            return places.flatMap(({ left, top }) =>
              places.filter((other) => Math.abs(other.top - top) < 4 && other.right <= left + 1).map(({ right }) => left - right),
            );
          });
        await expect.poll(async () => Math.min(...(await gaps()))).toBeGreaterThanOrEqual(4);
      },
      { viewport: { width: 2560, height: 1440 } },
    ));
});

describe("language, theme, keys", () => {
  it("speaks Chinese to a Chinese browser and remembers another choice", () =>
    on(
      "tensor",
      async (page) => {
        await page.getByRole("tab", { name: "起因", exact: true }).waitFor();
        await page.getByRole("button", { name: "Switch to English" }).click();
        await page.getByRole("tab", { name: "Causes" }).waitFor();
        await page.reload();
        await page.getByRole("tab", { name: "Causes" }).waitFor();
      },
      { locale: "zh-CN" },
    ));

  it("follows the system's theme until another is chosen", () =>
    on(
      "tensor",
      async (page) => {
        const theme = () => page.locator("html").getAttribute("data-theme");
        await expect.poll(() => theme()).toBe("dark");
        await page.getByRole("button", { name: /between light and dark/ }).click();
        await expect.poll(() => theme()).toBe("light");
        await page.reload();
        await graphsShown(page);
        await expect.poll(() => theme()).toBe("light");
      },
      { colorScheme: "dark" },
    ));

  it("lists its keys with ?, and reaches every control with Tab", () =>
    on("ranks", async (page) => {
      await page.keyboard.press("?");
      await page.getByRole("dialog").waitFor();
      await expect.poll(() => page.getByRole("dialog").innerText()).toContain("go to where it begins");
      await page.keyboard.press("Escape");
      await expect.poll(() => page.getByRole("dialog").count()).toBe(0);
      await page.keyboard.press("f");
      await page.locator(".value-table").waitFor();
      const wanted = new Set(await controls(page));
      expect(wanted.size).toBeGreaterThan(35);
      expect([...wanted]).not.toContain("");
      const reached = new Set<string>();
      const left = () => [...wanted].filter((name) => !reached.has(name));
      for (let press = 0; press < 160 && left().length > 0; press += 1) {
        await page.keyboard.press("Tab");
        reached.add(
          await page.evaluate(() => {
            const at = document.activeElement as HTMLElement | null;
            return at?.getAttribute("aria-label") ?? at?.innerText ?? "";
          }),
        );
      }
      expect(left()).toEqual([]);
    }));

  it("takes keys in a switch too, leads the focus to the rows with F, and says with M why a row cannot be mapped", () =>
    on("renamed", async (page) => {
      const notice = page.locator(".notice");
      await page.keyboard.press("m");
      await expect.poll(() => notice.innerText()).toContain("Select a row of one side first");
      await page.locator("#search").fill("ln1 forward");
      await expect.poll(() => page.locator(".search-count").innerText()).toMatch(/^\d+ nodes/);
      await page.keyboard.press("Enter");
      await expect.poll(() => selectedName(page)).toContain("ln1");
      await page.locator(".diff-scroll").focus();
      await page.keyboard.press("m");
      await expect.poll(() => notice.innerText()).toMatch(/is matched already, with .*ln1.*56 nodes here have no partner/);
      await page.locator("#search").fill("unmatched mlp.MLP.forward");
      await expect.poll(() => page.locator(".search-count").innerText()).toMatch(/^\d+ nodes/);
      await page.keyboard.press("Enter");
      await expect.poll(() => selectedName(page)).toContain("mlp");
      await page.locator(".diff-scroll").focus();
      await page.keyboard.press("m");
      await page.locator(".pick-slot.filled").waitFor();
      await page.keyboard.press("Escape");
      await expect.poll(() => page.locator(".pick-slot.filled").count()).toBe(0);
    }));

  it("goes with F to where it begins, from a switch, with the focus in the rows", () =>
    on("tensor", async (page) => {
      await page.getByRole("switch", { name: "Colour by overflow level" }).focus();
      await page.keyboard.press("f");
      await expect.poll(() => page.evaluate(() => document.activeElement?.className)).toContain("diff-scroll");
      await page.keyboard.press("ArrowDown");
      await expect.poll(() => selectedName(page)).toContain("fc2");
    }));

  it("shows where it begins, another rank, stack, a list by score as a file, and the link, by keys alone", () =>
    on("ranks", async (page) => {
      // Every control that takes the focus here is reached by Tab, as the journey before shows.
      await expect.poll(() => selectedName(page)).toContain("__mul__");
      await page.keyboard.press("j");
      await expect.poll(() => page.getByLabel("Rank", { exact: true }).last().inputValue()).toBe("1");
      await page.locator("[role=row][aria-selected=true]").waitFor();
      await page.keyboard.press("k");
      await expect.poll(() => page.getByLabel("Rank", { exact: true }).last().inputValue()).toBe("0");
      await page.locator("[role=row][aria-selected=true]").waitFor();
      await page.keyboard.press("d");
      await page.locator("[role=tab]:focus", { hasText: "Values" }).waitFor();
      for (const name of ["Way to the cause", "Stack"]) {
        await page.keyboard.press("ArrowRight");
        await page.locator("[role=tab]:focus", { hasText: name }).waitFor();
      }
      await page.locator(".stacks").waitFor();
      await page.keyboard.press("/");
      await page.locator("#search:focus").fill("linear score>0.5");
      await expect.poll(() => page.locator(".search-count").innerText()).toMatch(/^[1-9]\d* nodes/);
      await page.getByRole("button", { name: "CSV", exact: true }).focus();
      const saved = await downloaded(page, () => page.keyboard.press("Enter"));
      expect(saved.content.toString()).toContain("linear");
      await page.getByText(`${saved.name} is among the downloads.`).waitFor();
      await page.getByRole("button", { name: "Link", exact: true }).focus();
      await page.keyboard.press("Enter");
      await page.getByText("The link to this view is copied.").waitFor();
    }));

  it("has a legend of the rails behind their heading", () =>
    on("tensor", async (page) => {
      await page.getByRole("button", { name: "What the rails of the flow mean" }).click();
      await page.getByText("feeds the selected row").waitFor();
      await page.keyboard.press("Escape");
      await expect.poll(() => page.getByText("feeds the selected row").count()).toBe(0);
    }));

  it("has one line of header at 200 % zoom, and its tools and lists one click away", () =>
    on(
      "ranks",
      async (page) => {
        expect((await page.locator(".header").boundingBox())?.height).toBeLessThan(46);
        const rows = await page.locator(".diff-scroll").boundingBox();
        expect(rows?.height).toBeGreaterThan(120);
        expect(rows?.width).toBe(720);
        await page.getByRole("button", { name: "Legend and settings" }).click();
        await page.getByRole("switch", { name: "Colour by overflow level" }).waitFor();
        await page.keyboard.press("Escape");
        await page.getByRole("button", { name: "Show the lists" }).click();
        await page.locator(".finding").waitFor();
        await page.getByRole("button", { name: "Put the lists away" }).click();
        await expect.poll(() => page.locator(".finding").count()).toBe(0);
        await page.keyboard.press("3");
        await page.getByRole("tab", { name: "Nodes", selected: true }).waitFor();
        await page.keyboard.press("1");
        await page.locator(".finding").waitFor();
        await page.getByRole("button", { name: "Put the lists away" }).click();
        // The list is still the chosen one; its key brings it back.
        await page.keyboard.press("1");
        await page.locator(".finding").waitFor();
      },
      { viewport: { width: 720, height: 450 } },
    ));
});

describe("room", () => {
  it.each([
    [720, 450],
    [720, 386],
  ])("is left for values of the cause in a window of %i × %i", (width, height) =>
    on(
      "ranks",
      async (page) => {
        const value = page.locator(".value-table tbody tr").first();
        const end = async () => {
          const box = await value.boundingBox();
          return (box?.y ?? height) + (box?.height ?? 1);
        };
        await expect.poll(end).toBeLessThanOrEqual(height);
        await page.getByRole("button", { name: "Legend and settings" }).click();
        await page.getByRole("grid", { name: /^Worst score of every step and rank/ }).waitFor();
      },
      { viewport: { width, height } },
    ));

  it.each([
    [1024, 700, "en-US"],
    [720, 450, "en-US"],
    [720, 450, "zh-CN"],
  ])("is left for both sides' names in a window of %i × %i, %s", (width, height, locale) =>
    on(
      "ranks",
      async (page) => {
        const cut = page.locator(".diff-run > *, .diff-run-name").evaluateAll((parts) =>
          parts.filter((part) => part.scrollWidth > part.clientWidth + 1 && part.clientWidth > 0).map((part) => part.textContent),
        );
        await expect.poll(() => cut).toEqual([]);
        await expect.poll(() => page.locator(".diff-run-name").allInnerTexts()).toEqual(["problem", "bench"]);
      },
      { viewport: { width, height }, locale },
    ));
});

describe("focus", () => {
  it("stays in the rows over a switch, and comes back to them from a query by one Escape", () =>
    on("ranks", async (page) => {
      const rows = page.getByRole("treegrid");
      const focused = () => rows.evaluate((element) => element === document.activeElement);
      await rows.focus();
      await page.keyboard.press("l");
      await expect.poll(() => page.getByLabel("Step", { exact: true }).locator("select").inputValue()).toBe("1");
      await expect.poll(focused).toBe(true);
      await page.keyboard.press("/");
      await page.keyboard.type("mlp");
      await page.keyboard.press("Escape");
      await expect.poll(() => focused()).toBe(true);
      // The next letter is a key: it goes to where it begins, and asks for nothing.
      await page.keyboard.press("f");
      await expect.poll(() => selectedName(page)).toContain("__mul__");
      await expect.poll(() => page.locator("#search").inputValue()).toBe("");
    }));
});

describe("trouble", () => {
  it("says which request failed and tries again", async () => {
    const { page } = await open(await addressOf(places.standalone, "tensor"));
    await graphsShown(page);
    await page.route("**/nodes/*", (route) => route.abort());
    await page.keyboard.press("ArrowDown");
    await page.locator(".failure").first().waitFor();
    await expect.poll(() => page.locator(".failure").first().innerText()).toContain("/nodes/");
    await page.unroute("**/nodes/*");
    await page.getByRole("button", { name: "Try again" }).first().click();
    await page.locator(".value-table").waitFor();
    await page.context().close();
  });
});
