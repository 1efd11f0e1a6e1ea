/* All that leads to where it begins, why and how far, by fingers alone, with a server and from the disk. */
import { pathToFileURL } from "node:url";
import type { Locator, Page } from "playwright-core";
import { beforeAll, describe, expect, inject, it } from "vitest";

import { en } from "../../tb_graph_ascend/frontend/src/i18n/en";
import { Fingers, type Point } from "./fingers";
import { writePage } from "./offlinepage";
import { addressOf, graphsShown, on, open, rest, selectedName, stateIs, stateOf, withBrowser } from "./page";

withBrowser();
const TABLET = { hasTouch: true, viewport: { width: 1180, height: 820 } };
const tip = (page: Page) => page.locator(".tip");
const scaleOf = (page: Page) =>
  page.locator(".boxes-frame svg > g").first().evaluate((group) => Number(/scale\((.*)\)/.exec(group.getAttribute("transform") ?? "")?.[1]));

async function middle(of: Locator): Promise<Point> {
  const box = await of.boundingBox();
  if (!box) throw new Error("not in view");
  return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
}

describe.each(["with a server", "from the disk"] as const)("a finger %s", (where) => {
  const disk = new Map<string, string>();
  beforeAll(() => {
    for (const name of ["causes", "ranks"]) disk.set(name, pathToFileURL(writePage(inject("places").logdir, name)).href);
  });

  async function touched(journey: (page: Page, finger: Fingers) => Promise<void>, name: "causes" | "ranks" = "causes"): Promise<void> {
    const served = where === "with a server";
    const address = served ? await addressOf(inject("places").standalone, name) : (disk.get(name) ?? "");
    const { page, complaints } = await open(address, { ...TABLET, offline: !served });
    await graphsShown(page);
    await journey(page, await Fingers.on(page));
    expect(complaints).toEqual([]);
    await page.context().close();
  }

  it("goes to where it begins, to its stack, its way, its places and the next cause", () =>
    touched(async (page) => {
      await page.locator(".answer .button.primary").tap();
      await expect.poll(() => selectedName(page)).toMatch(/layer_norm|gelu/);
      const begins = await selectedName(page);
      for (const [name, told] of [["Stack", /model_dump\.py/], ["Way to the cause", /begins/], ["Steps & ranks", /rank/i], ["Values", /output/]] as const) {
        await page.getByRole("tab", { name, exact: true }).tap();
        await expect.poll(() => page.locator(".bottom").innerText()).toMatch(told);
      }
      await page.locator(".finding").last().tap();
      await expect.poll(() => selectedName(page)).not.toBe(begins);
    }));

  it("goes to other ranks and steps, and says by a long press what a cell stands for", () =>
    touched(async (page, finger) => {
      const before = stateOf(page).get("rank");
      await page.getByRole("button", { name: before === "0" ? /next rank/i : /previous rank/i }).tap();
      await expect.poll(() => stateOf(page).get("rank")).not.toBe(before);
      await graphsShown(page);
      await finger.press(await middle(page.locator(".strip-cell").first()));
      await expect.poll(() => tip(page).innerText()).toMatch(/step 0/);
      // The press asked and went nowhere; a tap beside it puts the tip away.
      expect(stateOf(page).get("rank")).not.toBe(before);
      await page.locator("h1").first().tap();
      await expect.poll(() => tip(page).count()).toBe(0);
      await page.locator(".strip-cell").last().tap();
      await stateIs(page, "step", "1");
    }));

  it("finds nodes by a query and opens one, scrolls the rows, and reads a value to its last digit", () =>
    touched(async (page, finger) => {
      await page.locator("#search").tap();
      await page.keyboard.type("gelu backward");
      await page.locator(".table-row").first().tap();
      await expect.poll(() => selectedName(page)).toMatch(/gelu.*backward/);
      const chip = page.locator(".value-table .chip").first();
      await finger.press(await middle(chip));
      await expect.poll(() => tip(page).innerText()).toMatch(/^score /);
      await page.locator(".value-table .digits").first().tap();
      await expect.poll(() => tip(page).count()).toBe(0);
      const rows = page.locator(".diff-scroll");
      const top = await rows.evaluate((element) => element.scrollTop);
      const at = await middle(rows);
      await finger.drag(at, { x: at.x, y: at.y + (top > 100 ? 150 : -150) });
      await expect.poll(() => rows.evaluate((element) => element.scrollTop)).not.toBe(top);
    }));

  it("draws a module, opens a box by two taps, drags and pinches, and asks a box for its name", () =>
    touched(async (page, finger) => {
      await page.getByRole("button", { name: "Graph", exact: true }).tap();
      const boxes = page.locator(".boxes-frame .box");
      await boxes.first().waitFor();
      await rest(page);
      const frame = await middle(page.locator(".boxes-frame"));
      const before = await scaleOf(page);
      await finger.pinch(frame, 80, 160);
      await expect.poll(async () => (await scaleOf(page)) / before).toBeCloseTo(2, 1);
      await finger.pinch(frame, 160, 80);
      await expect.poll(async () => (await scaleOf(page)) / before).toBeCloseTo(1, 1);
      const box = boxes.first();
      const from = await middle(box);
      await finger.drag(frame, { x: frame.x - 60, y: frame.y - 40 });
      const moved = await middle(box);
      expect([Math.round(moved.x - from.x), Math.round(moved.y - from.y)]).toEqual([-60, -40]);
      await page.getByRole("button", { name: en.boxes.fit }).tap();
      await finger.press(await middle(box));
      await expect.poll(() => tip(page).innerText()).not.toBe("");
      const holder = boxes.filter({ has: page.locator(".box-chevron") }).first();
      const count = await boxes.count();
      await finger.doubleTap(await middle(holder));
      await expect.poll(() => boxes.count()).toBeGreaterThan(count);
    }, "ranks"));
});

describe("the key I", () => {
  it("tells one after the other what the mouse is told where the focus is, and Escape ends it", () =>
    on("causes", async (page) => {
      await page.keyboard.press("f");
      await page.locator(".value-table .chip").first().waitFor();
      await rest(page);
      await page.locator(".value-name").first().focus();
      const told = new Set<string>();
      for (;;) {
        await page.keyboard.press("i");
        if ((await tip(page).count()) === 0) break;
        told.add(await tip(page).innerText());
      }
      expect([...told].filter((text) => text.startsWith("score ")).length).toBeGreaterThan(0);
      await page.keyboard.press("i");
      await tip(page).waitFor();
      await page.keyboard.press("Escape");
      await expect.poll(() => tip(page).count()).toBe(0);
      await page.keyboard.press("i");
      // It begins anew, and what takes the focus away takes the tip with it.
      await tip(page).waitFor();
      await page.keyboard.press("Tab");
      await expect.poll(() => tip(page).count()).toBe(0);
    }));

  it("leads from the rows into the graph, tells there of the selected box first, and enlarges around it", () =>
    on("ranks", async (page) => {
      await page.keyboard.press("f");
      await page.locator(".diff-scroll:focus").waitFor();
      await page.keyboard.press("v");
      await page.locator(".boxes-frame:focus .box").first().waitFor();
      await rest(page);
      const selected = page.locator(".box[data-selected=true]");
      const before = await middle(selected);
      await page.keyboard.press("i");
      await expect.poll(() => tip(page).innerText()).toContain("__mul__");
      const told: string[] = [];
      while ((await tip(page).count()) > 0) {
        told.push(await tip(page).innerText());
        await page.keyboard.press("i");
      }
      expect(told.some((text) => /recorded|equal values|worked out|ran next/.test(text))).toBe(true);
      await page.keyboard.press("+");
      const after = await middle(selected);
      expect(Math.hypot(after.x - before.x, after.y - before.y)).toBeLessThan(2);
    }));
});
