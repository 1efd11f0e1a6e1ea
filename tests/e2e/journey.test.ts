/* The way from a cold open to a clicked red node, standing alone and inside TensorBoard. */
import { join } from "node:path";
import type { Frame, Page } from "playwright-core";
import { describe, expect, inject, it } from "vitest";

import { addressOf, chooseFile, graphsShown, open, rest, selectedName, stateIs, stateOf, withBrowser } from "./page";
import { keep } from "./pictures";
import { ROOT } from "./setup";

withBrowser();
const places = inject("places");

describe("standing alone", () => {
  it("finds the seeded fault in one action, on one pair of a file", async () => {
    const { page, complaints } = await open(await addressOf(places.standalone, "tensor"));
    await graphsShown(page);
    await page.keyboard.press("f");
    await expect.poll(() => selectedName(page)).toBe("Tensor.__mul__.0.forward");
    await stateIs(page, "node", /\d+/);
    await expect.poll(() => page.locator(".value-table tbody tr").count()).toBeGreaterThan(1);
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  it("finds it on 2 × 2 pairs, with the strip of ranks, and takes the README's picture", async () => {
    const { page, complaints } = await open(await addressOf(places.standalone, "ranks"));
    await graphsShown(page);
    await expect.poll(() => page.locator(".strip-cell").count()).toBe(2);
    await page.keyboard.press("f");
    await expect.poll(() => selectedName(page)).toBe("Tensor.__mul__.0.forward");
    await page.keyboard.press("ArrowDown");
    await expect.poll(() => selectedName(page)).toBe("Module.layers.1.mlp.fc2.Linear.forward.0");
    await rest(page);
    keep(await page.screenshot(), join(ROOT, "docs/screenshots/first-screen.png"));
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  it("walks: start here, values, stack, rank, step, search", async () => {
    const { page, complaints } = await open(await addressOf(places.standalone, "ranks"));
    await walk(page);
    expect(complaints).toEqual([]);
    await page.context().close();
  });
});

describe("inside TensorBoard, behind a path prefix, of named log folders, on all interfaces", () => {
  it("walks the same way", async () => {
    const { page } = await open(`${places.tensorboard}#tb_graph_ascend`);
    const frame = await pluginFrame(page);
    await frame.locator("canvas.diff-canvas").waitFor({ timeout: 30_000 });
    await chooseFile(frame, "ranks/ranks.vis.db");
    await frame.locator(".rank-strip").waitFor();
    await frame.locator(".diff-scroll").focus();
    await walk(frame, page);
    const address = page.url();
    expect(address).toContain("p.tb_graph_ascend.view=");

    const again = await open(address);
    const second = await pluginFrame(again.page);
    await expect
      .poll(() => second.locator(".selected-name").innerText(), { timeout: 30_000 })
      .toBe(await selectedName(frame));
    await page.context().close();
    await again.page.context().close();
  });

  it("follows TensorBoard's dark mode", async () => {
    const { page } = await open(`${places.tensorboard}#tb_graph_ascend`);
    const frame = await pluginFrame(page);
    await frame.locator("canvas.diff-canvas").waitFor({ timeout: 30_000 });
    await page.evaluate(() => document.body.classList.add("dark-mode"));
    await expect.poll(() => frame.locator("html").getAttribute("data-theme")).toBe("dark");
    await page.evaluate(() => document.body.classList.remove("dark-mode"));
    await expect.poll(() => frame.locator("html").getAttribute("data-theme")).toBe("light");
    await page.context().close();
  });
});

async function walk(view: Page | Frame, page = view as Page): Promise<void> {
  await graphsShown(view);
  await page.keyboard.press("f");
  await expect.poll(() => selectedName(view)).toBe("Tensor.__mul__.0.forward");
  await view.locator(".value-table tbody tr").first().waitFor();
  await expect.poll(() => view.locator(".value-table").innerText()).toContain("output");
  await view.getByRole("tab", { name: "Stack" }).click();
  await expect.poll(() => view.locator(".stacks").innerText()).toContain("/job/model");
  await view.getByRole("button", { name: "Next rank" }).click();
  await expect.poll(() => view.getByLabel("Rank", { exact: true }).last().inputValue()).toBe("1");
  await expect.poll(() => selectedName(view)).toBe("Tensor.__mul__.0.forward");
  await view.getByRole("button", { name: "Next step" }).click();
  await expect.poll(() => view.getByLabel("Step", { exact: true }).last().inputValue()).toBe("1");
  await stateIs(page, "step", "1");
  const before = stateOf(page).get("node");
  await view.locator("#search").fill("layers.0.attn.qkv");
  await view.locator(".table-row").first().waitFor();
  await page.keyboard.press("Enter");
  await expect.poll(() => selectedName(view)).toContain("layers.0.attn.qkv");
  await page.keyboard.press("Escape");
  await expect.poll(() => stateOf(page).get("node")).not.toBe(before);
  await expect.poll(() => stateOf(page).get("q")).toBeNull();
}

async function pluginFrame(page: Page): Promise<Frame> {
  const element = await page.waitForSelector("iframe", { timeout: 30_000 });
  const frame = await element.contentFrame();
  if (!frame) throw new Error("TensorBoard shows no frame");
  return frame;
}
