/* Links, Back and trouble: what is shown is what the header says, and what is gone is said to be gone. */
import { copyFileSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { describe, expect, inject, it } from "vitest";

import { addressOf, chooseFile, graphsShown, on, open, query, rest, selectedName, stateIs, tab, withBrowser } from "./page";

withBrowser();
const places = inject("places");
const parameter = (page: Page, key: string) => new URL(page.url()).searchParams.get(key);

describe("a link", () => {
  it("to a file that is gone says so and opens no other", async () => {
    const token = Buffer.from("0/runs/yesterday.vis.db").toString("base64url");
    const { page, complaints } = await open(`${places.standalone}index.html?db=${token}&step=0&rank=0`);
    await page.getByText("The result file of this link is not here any more").waitFor();
    await expect.poll(() => page.locator(".gone").innerText()).toContain("runs/yesterday.vis.db");
    await rest(page);
    await expect.poll(() => page.locator("canvas.diff-canvas, .value-table, .answer").count()).toBe(0);
    expect(parameter(page, "db")).toBe(token);
    await chooseFile(page, "tensor/tensor.vis.db");
    await graphsShown(page);
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  it("to a step and rank that are gone says so and opens no other", async () => {
    const { page, complaints } = await open(await addressOf(places.standalone, "ranks", "&step=7&rank=3"));
    await page.getByText("This file has no step 7, rank 3").waitFor();
    await expect.poll(() => page.locator("canvas.diff-canvas, .value-table").count()).toBe(0);
    await page.getByRole("button", { name: "Open it where it begins" }).click();
    await graphsShown(page);
    await stateIs(page, "rank", "0");
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  it("of a file that was built anew says that its selection means nothing", async () => {
    const { page } = await open(await addressOf(places.standalone, "tensor", "&step=0&rank=0&node=3&built=2001-01-01"));
    await page.getByText("This file was built anew since the link was made").waitFor();
    await page.context().close();
  });
});

describe("the open file", () => {
  it("stays the one on screen when it is deleted", async () => {
    const folder = join(places.logdir, "doomed");
    mkdirSync(folder);
    copyFileSync(join(places.logdir, "nan/nan.vis.db"), join(folder, "doomed.vis.db"));
    const { page } = await open(await addressOf(places.standalone, "doomed"));
    await graphsShown(page);
    await expect.poll(() => selectedName(page)).toContain("log");
    rmSync(folder, { recursive: true });
    await page.getByText("This result file was deleted or moved").waitFor({ timeout: 20_000 });
    const shown = page.locator("select.database");
    await expect.poll(() => shown.evaluate((one: HTMLSelectElement) => one.selectedOptions[0]?.text)).toBe("this file is gone");
    expect(Buffer.from(parameter(page, "db") ?? "", "base64url").toString()).toBe("0/doomed/doomed.vis.db");
    await expect.poll(() => selectedName(page)).toContain("log");
    await page.context().close();
  });

  it("is left by nothing that fails: header and rows stay together", () =>
    on("ranks", async (page, { complaints }) => {
      await expect.poll(() => selectedName(page)).toContain("__mul__");
      await stateIs(page, "step", "0");
      await page.route("**/pairs/1/**", (route) => route.abort());
      await page.getByRole("button", { name: "Next step" }).click();
      await page.locator(".failure").first().waitFor();
      await expect.poll(() => page.locator(".failure").first().innerText()).toContain("The server does not answer");
      await expect.poll(() => page.getByLabel("Step", { exact: true }).last().inputValue()).toBe("0");
      await expect.poll(() => selectedName(page)).toContain("__mul__");
      expect(parameter(page, "step")).toBe("0");
      await page.unroute("**/pairs/1/**");
      await page.getByRole("button", { name: "Try again" }).first().click();
      await stateIs(page, "step", "1");
      await expect.poll(() => page.getByLabel("Step", { exact: true }).last().inputValue()).toBe("1");
      await expect.poll(() => page.locator(".failure").count()).toBe(0);
      complaints.length = 0; // the aborted requests
    }));
});

describe("Back and Forward", () => {
  it("go through selections and switches, and leave the page only before the first", () =>
    on("ranks", async (page) => {
      await expect.poll(() => selectedName(page)).toContain("__mul__");
      await stateIs(page, "node", /\d/);
      const first = parameter(page, "node") ?? "";
      await page.keyboard.press("ArrowDown");
      await expect.poll(() => selectedName(page)).toContain("fc2");
      await stateIs(page, "node", new RegExp(`^(?!${first}$)\\d`));
      await page.keyboard.press("l");
      // The whole state is written at once, when the switch is done.
      await stateIs(page, "step", "1");
      await expect.poll(() => selectedName(page)).toContain("fc2");

      await page.goBack();
      await stateIs(page, "step", "0");
      await expect.poll(() => page.getByLabel("Step", { exact: true }).last().inputValue()).toBe("0");
      await expect.poll(() => selectedName(page)).toContain("fc2");
      await page.goBack();
      await expect.poll(() => selectedName(page)).toContain("__mul__");
      await page.goForward();
      await expect.poll(() => selectedName(page)).toContain("fc2");
      await page.goForward();
      await stateIs(page, "step", "1");
      await expect.poll(() => page.getByLabel("Step", { exact: true }).last().inputValue()).toBe("1");
    }));
});

describe("Back right after a tab", () => {
  it("restores the tab that each entry had", () =>
    on("tensor", async (page) => {
      await expect.poll(() => selectedName(page)).toContain("__mul__");
      await stateIs(page, "node", /\d/);
      const first = parameter(page, "node") ?? "";
      await page.locator(".diff-scroll").focus();
      await page.keyboard.press("ArrowDown");
      await expect.poll(() => selectedName(page)).toContain("fc2");
      await expect.poll(() => parameter(page, "node")).not.toBe(first);
      await tab(page, "Stack");
      await page.goBack();
      await page.getByRole("tab", { name: "Values", selected: true }).waitFor();
      await expect.poll(() => selectedName(page)).toContain("__mul__");
      await page.goForward();
      await page.getByRole("tab", { name: "Stack", selected: true }).waitFor();
      await expect.poll(() => selectedName(page)).toContain("fc2");
    }));
});

describe("a change of size", () => {
  it("keeps the selected row at its height when the window changes, and comes back with it", () =>
    on("tensor", async (page) => {
      const selected = page.locator("[role=row][aria-selected=true]");
      const height = async (): Promise<number | null> => {
        const [row, list] = await Promise.all([selected.boundingBox(), page.locator(".diff-scroll").boundingBox()]);
        return row && list && row.y >= list.y && row.y + row.height <= list.y + list.height ? Math.round(row.y - list.y) : null;
      };
      await selected.waitFor();
      const low = await page.locator("[data-column=problem][aria-label='__add__ #3']").boundingBox();
      if (!low) throw new Error("no row __add__ #3 in view");
      await page.mouse.click(low.x + 150, low.y + low.height / 2);
      await expect.poll(() => selectedName(page)).toContain("__add__.3");
      await expect.poll(height).not.toBeNull();
      const before = await height();
      for (const [width, tall] of [[1440, 500], [1024, 700], [720, 450]] as const) {
        await page.setViewportSize({ width, height: tall });
        await expect.poll(height).not.toBeNull();
      }
      await page.setViewportSize({ width: 1440, height: 900 });
      await expect.poll(height).toBe(before);
    }));
});

const SIZES = {
  "1024 × 700": { width: 1024, height: 700 },
  "200 % zoom of 1440 × 900": { width: 720, height: 450 },
  "2560 × 1440": { width: 2560, height: 1440 },
};

describe.each(Object.entries(SIZES))("at %s", (_, viewport) => {
  it.each(["en-US", "zh-CN"])("nothing is wider than the window, covered or unreadable (%s)", (locale) =>
    on(
      "ranks",
      async (page) => {
        await query(page, "softmax score>0.5 backward");
        const width = await page.evaluate(() => document.documentElement.scrollWidth);
        expect(width).toBeLessThanOrEqual(viewport.width);
        const box = await page.locator("#search").boundingBox();
        expect(box?.width).toBeGreaterThan(100);
        const hidden = await page.evaluate(covered);
        expect(hidden).toEqual([]);
        await page.keyboard.press("Escape");
        await tab(page, locale === "en-US" ? "Mapping" : "映射");
        await expect.poll(() => page.evaluate(covered)).toEqual([]);
      },
      { viewport, locale },
    ));
});

/** Names of the controls of header, answer and tabs whose middle cannot be reached by a click. */
function covered(): string[] {
  const controls = document.querySelectorAll<HTMLElement>(".header button, .header select, .header input, .answer button, [role=tab]");
  return [...controls]
    .filter((one) => one.checkVisibility())
    .filter((one) => {
      one.scrollIntoView({ block: "nearest", inline: "nearest" });
      const { left, top, width, height } = one.getBoundingClientRect();
      const hit = document.elementFromPoint(left + width / 2, top + height / 2);
      return !hit || !(one.contains(hit) || hit.contains(one));
    })
    .map((one) => one.getAttribute("aria-label") ?? one.innerText);
}
