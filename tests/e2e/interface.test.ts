/* What a person can do, row by row of the interface's contract. */
import { readFileSync } from "node:fs";
import type { Page } from "playwright-core";
import { describe, expect, inject, it } from "vitest";

import { type Opened, addressOf, graphsShown, open, selectedName, stateIs, withBrowser } from "./page";

withBrowser();
const places = inject("places");

/** Open a database, run a journey on it, and see that the page never complained. */
async function on(
  name: string,
  journey: (page: Page, opened: Opened) => Promise<void>,
  query = "",
  options = {},
): Promise<void> {
  const opened = await open(await addressOf(places.standalone, name, query), options);
  await graphsShown(opened.page);
  await journey(opened.page, opened);
  expect(opened.complaints).toEqual([]);
  await opened.page.context().close();
}

const list = (page: Page, name: string) => page.getByRole("tab", { name, exact: true }).click();
const nodes = (page: Page) => page.locator(".findings > .finding");

describe("divergences", () => {
  it("are stepped through with N and P over steps and ranks, filtered and sorted", () =>
    on("ranks", async (page) => {
      await expect.poll(() => nodes(page).count()).toBe(2);
      await page.keyboard.press("n");
      await expect.poll(() => selectedName(page)).toContain("__mul__");
      await stateIs(page, "rank", "0");
      await page.keyboard.press("n");
      await stateIs(page, "rank", "1");
      await expect.poll(() => selectedName(page)).toContain("__mul__");
      await page.keyboard.press("p");
      await stateIs(page, "rank", "0");
      await page.getByRole("button", { name: "Filter and sort" }).click();
      await page.locator(".filter-form .wide select").selectOption("this");
      await expect.poll(() => nodes(page).count()).toBe(1);
      await page.locator(".filter-form .wide select").selectOption("all");
      await page.getByLabel("Sort by").selectOption("name");
      await page.getByLabel("Direction").selectOption("backward");
      await page.getByRole("button", { name: "Clear the filter" }).click();
      await page.getByLabel("Name contains").fill("MUL");
      await expect.poll(() => nodes(page).count()).toBe(2);
      await stateIs(page, "name", "MUL");
    }));

  it("fold out what they propagated to", () =>
    on("tensor", async (page) => {
      await page.getByRole("button", { name: /propagated/ }).click();
      await page.locator(".propagated li").first().waitFor();
      await page.locator(".propagated li button").first().click();
      await expect.poll(() => selectedName(page)).toMatch(/linear|fc2/);
    }));
});

describe("search", () => {
  it("counts, steps through, takes regular expressions, and says what is wrong with one", () =>
    on("tensor", async (page, { complaints }) => {
      await page.keyboard.press("/");
      await page.keyboard.type("GELU");
      await expect.poll(() => page.locator(".search-count").innerText()).toMatch(/^\d+ hits/);
      await page.keyboard.press("Enter");
      await expect.poll(() => page.locator(".search-count").innerText()).toMatch(/1 of \d+/);
      await expect.poll(() => selectedName(page)).toContain("gelu");
      await page.getByRole("button", { name: "Regular expression" }).click();
      await page.locator("#search").fill("fc[12].*forward");
      await expect.poll(() => page.locator(".search-count").innerText()).toMatch(/8 hits/);
      await page.locator("#search").fill("fc[");
      await page.locator(".search-hits.message").waitFor();
      complaints.length = 0; // the refused expression is a failed request
    }));
});

describe("graph", () => {
  it("opens and closes both sides together, or one alone", () =>
    on("tensor", async (page) => {
      await list(page, "Outline");
      await page.getByRole("treeitem", { name: /layers\.0/ }).first().click();
      await page.keyboard.press("Enter");
      await stateIs(page, "open", "4");
      await stateIs(page, "openb", "4");
      await page.locator("canvas[data-side=problem]").focus();
      await page.keyboard.press("s");
      await page.keyboard.press("Enter");
      await expect.poll(() => new URL(page.url()).searchParams.get("open")).toBeNull();
      await stateIs(page, "openb", "4");
      await stateIs(page, "sync", "0");
    }));

  it("expands all below, collapses all, and fits", () =>
    on("tensor", async (page) => {
      await page.keyboard.press("e");
      await stateIs(page, "open", /\(/);
      await page.keyboard.press("c");
      await expect.poll(() => new URL(page.url()).searchParams.get("open")).toBeNull();
    }));

  it("zooms under the pointer and pans", () =>
    on("tensor", async (page) => {
      const box = await page.locator("canvas[data-side=problem]").boundingBox();
      if (!box) throw new Error("no canvas");
      await page.mouse.move(box.x + 200, box.y + 150);
      await page.keyboard.down("Control");
      await page.mouse.wheel(0, -200);
      await page.keyboard.up("Control");
      await stateIs(page, "view", /^1\.\d+,/);
      await page.mouse.wheel(0, 60);
      await page.mouse.down();
      await page.mouse.move(box.x + 240, box.y + 190, { steps: 4 });
      await page.mouse.up();
      await stateIs(page, "view", /^1\.\d+,/);
    }));

  it("selects by a click and opens by a double click", () =>
    on("tensor", async (page) => {
      const canvas = page.locator("canvas[data-side=problem]");
      await page.mouse.move(0, 0);
      const box = await canvas.boundingBox();
      if (!box) throw new Error("no canvas");
      await canvas.click({ position: { x: 120, y: 160 } });
      await page.locator(".selected-name").waitFor();
    }));

  it("shows a single graph, a failed pair, and a micro-step", async () => {
    await on("single", async (page) => {
      expect(await page.locator("canvas[data-side]").count()).toBe(1);
      expect(await page.locator(".panel-content").first().innerText()).toContain("one graph");
    });
    await on("failed", async (page) => {
      await page.getByRole("button", { name: "step 1, rank 1: failed" }).click();
      await page.locator(".pair-failed").waitFor();
      expect(await page.locator(".pair-failed pre").innerText()).toContain("dump.json");
    });
    await on("micro", async (page) => {
      await page.locator("label.stepper select").selectOption("1");
      await stateIs(page, "micro", "1");
      await page.locator(".selected-name").waitFor();
    });
  });
});

describe("overflow", () => {
  it("recolours and lists by level, or says how to get levels", async () => {
    await on("nan", async (page) => {
      await page.getByRole("switch", { name: "Colour by overflow level" }).click();
      await stateIs(page, "colour", "overflow");
      await list(page, "Overflow");
      expect(await page.locator(".row").first().innerText()).toContain("log");
    });
    await on("tensor", async (page) => {
      await list(page, "Overflow");
      expect(await page.locator(".command").innerText()).toContain("-oc");
    });
  });
});

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

  it("draw histograms, the place of the error, and the node elsewhere", async () => {
    await on("tensor", async (page) => {
      await page.keyboard.press("f");
      await expect.poll(() => selectedName(page)).toContain("__mul__");
      await page.keyboard.press("ArrowDown");
      await expect.poll(() => selectedName(page)).toContain("fc2");
      await list(page, "Pictures");
      await page.locator(".plot canvas").first().waitFor();
      expect(await page.locator("figure").count()).toBe(3);
    });
    await on("ranks", async (page) => {
      await page.keyboard.press("f");
      await expect.poll(() => selectedName(page)).toContain("__mul__");
      await page.keyboard.press("ArrowDown");
      await expect.poll(() => selectedName(page)).toContain("fc2");
      await list(page, "Steps & ranks");
      await expect.poll(() => page.locator(".across button.cell").count()).toBe(4);
      await page.getByRole("button", { name: /^step 1, rank 1: score/ }).click();
      await stateIs(page, "step", "1");
      await stateIs(page, "rank", "1");
      await expect.poll(() => selectedName(page)).toContain("fc2");
    });
  });
});

describe("mapping", () => {
  it("says why a pair is refused", () =>
    on("renamed", async (page) => {
      await list(page, "Unmatched");
      await page.getByRole("button", { name: "Use Module.layers.0.mlp.MLP.forward.0" }).click();
      await list(page, "Unmatched");
      await page.getByRole("button", { name: /^Use Functional\.linear/ }).first().click();
      await page.getByRole("button", { name: "Map", exact: true }).click();
      expect(await page.locator(".refused").first().innerText()).toMatch(/one is (module|api), the other (api|module)/);
    }));
});

describe("sharing", () => {
  it("opens the same view from a copied link, in a fresh browser", () =>
    on("ranks", async (page) => {
      await page.keyboard.press("f");
      await expect.poll(() => selectedName(page)).toContain("__mul__");
      await list(page, "Stack");
      await list(page, "Outline");
      await stateIs(page, "panel", "stack");
      await stateIs(page, "open", /\(/);
      await page.waitForTimeout(600);
      const link = page.url();
      const second = await open(link);
      await expect.poll(() => selectedName(second.page)).toBe(await selectedName(page));
      await second.page.waitForTimeout(800);
      expect(second.page.url()).toBe(link);
      expect(await second.page.locator(".stacks").count()).toBe(1);
      await second.page.context().close();
    }));

  it("hands out tables and pictures", () =>
    on("tensor", async (page) => {
      for (const [item, start] of [
        ["Findings as CSV", "step,rank,kind"],
        ["Problem graph as PNG", "\u{FFFD}PNG"],
      ] as const) {
        await page.getByRole("button", { name: "Share and export" }).click();
        const waiting = page.waitForEvent("download");
        await page.getByRole("menuitem", { name: item }).click();
        const file = await (await waiting).path();
        expect(readFileSync(file, "utf8").slice(0, start.length)).toBe(start);
      }
    }));

  it("keeps two pages on two files apart", () =>
    on("tensor", (page) =>
      on("nan", async (other) => {
        await other.keyboard.press("f");
        await expect.poll(() => selectedName(other)).toContain("log");
        await page.keyboard.press("f");
        await expect.poll(() => selectedName(page)).toContain("__mul__");
        expect(await selectedName(other)).toContain("log");
      })));
});

describe("language, theme, keys", () => {
  it("speaks Chinese to a Chinese browser and remembers another choice", () =>
    on(
      "tensor",
      async (page) => {
        await page.getByRole("tab", { name: "差异" }).waitFor();
        await page.getByRole("button", { name: "Switch to English" }).click();
        await page.getByRole("tab", { name: "Divergences" }).waitFor();
        await page.reload();
        await page.getByRole("tab", { name: "Divergences" }).waitFor();
      },
      "",
      { locale: "zh-CN" },
    ));

  it("follows the system's theme until another is chosen", () =>
    on(
      "tensor",
      async (page) => {
        const theme = () => page.locator("html").getAttribute("data-theme");
        expect(await theme()).toBe("dark");
        await page.getByRole("button", { name: /between light and dark/ }).click();
        expect(await theme()).toBe("light");
        await page.reload();
        await graphsShown(page);
        expect(await theme()).toBe("light");
      },
      "",
      { colorScheme: "dark" },
    ));

  it("lists its keys with ?, and reaches every control with Tab", () =>
    on("ranks", async (page) => {
      await page.keyboard.press("?");
      await page.getByRole("dialog").waitFor();
      await page.keyboard.press("Escape");
      await expect.poll(() => page.getByRole("dialog").count()).toBe(0);
      const reached = new Set<string>();
      for (let press = 0; press < 80; press += 1) {
        await page.keyboard.press("Tab");
        reached.add(
          await page.evaluate(() => {
            const { activeElement: at } = document;
            return at?.getAttribute("aria-label") ?? at?.textContent ?? "";
          }),
        );
      }
      for (const name of ["Database", "Next step", "graph", "Share", "start here", "Values"]) {
        expect([name, [...reached].some((one) => one.includes(name))]).toEqual([name, true]);
      }
    }));
});

describe("trouble", () => {
  it("says which request failed and tries again", async () => {
    const { page } = await open(await addressOf(places.standalone, "tensor"));
    await graphsShown(page);
    await page.route("**/nodes/*", (route) => route.abort());
    await page.keyboard.press("f");
    await page.locator(".failure").first().waitFor();
    expect(await page.locator(".failure").first().innerText()).toContain("/nodes/");
    await page.unroute("**/nodes/*");
    await page.getByRole("button", { name: "Try again" }).first().click();
    await page.locator(".value-table").waitFor();
    await page.context().close();
  });

  it("with nothing to show says where it looked, and builds from the dumps there", async () => {
    const { page, complaints } = await open(`${places.empty}index.html`);
    await page.getByRole("heading", { name: "No result files yet" }).waitFor();
    const text = await page.locator(".empty").innerText();
    expect(text).toContain("msprobe graph_visualize");
    expect(text).toContain("/empty");
    const choices = page.locator(".build-form select");
    const dumps = await choices.first().locator("option").allInnerTexts();
    const value = (side: string): string => dumps.find((one) => one.includes(side)) ?? side;
    await choices.nth(0).selectOption({ label: value("/problem") });
    await choices.nth(1).selectOption({ label: value("/bench") });
    await page.getByRole("button", { name: "Build", exact: true }).click();
    await page.locator("canvas[data-side=problem]").waitFor({ timeout: 40_000 });
    await page.keyboard.press("f");
    await expect.poll(() => selectedName(page)).toContain("__mul__");
    expect(complaints).toEqual([]);
    await page.context().close();
  });
});
