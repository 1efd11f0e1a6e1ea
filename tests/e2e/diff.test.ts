/* The diff: what is seen in its rows – order, alignment, folds, rails, colours – and the way through. */
import type { Page } from "playwright-core";
import { PNG } from "pngjs";
import { describe, expect, inject, it } from "vitest";

import { OVERFLOW_SCORE } from "../../tb_graph_ascend/frontend/src/graph/appearance";
import { rampColor } from "../../tb_graph_ascend/frontend/src/graph/ramp";
import { addressOf, graphsShown, on, open, query, rest, selectedName, stateIs, withBrowser } from "./page";

withBrowser();
/** Writing 100,000 entries a side and comparing them goes on beside the first journeys. */
const LARGE_MS = 400_000;
const places = inject("places");
const ROW = 24;
const CANVAS = "canvas.diff-canvas";

interface Row {
  place: number;
  y: number;
  word: string;
  level: number;
  problem: string;
  gutter: string;
  benchmark: string;
}

/** The rows in view, once they rest, from the top. */
async function rows(page: Page): Promise<Row[]> {
  await page.locator(".diff-rows [role=row]").first().waitFor();
  await rest(page);
  return page.locator(".diff-rows [role=row]").evaluateAll((elements) =>
    elements.map((row) => {
      const cell = (name: string): string =>
        row.querySelector(`[data-column=${name}]`)?.getAttribute("aria-label") ?? "";
      return {
        place: Number(row.getAttribute("aria-rowindex")) - 1,
        y: row.getBoundingClientRect().y,
        word: row.getAttribute("data-word") ?? "",
        level: Number(row.getAttribute("aria-level")),
        problem: cell("problem"),
        gutter: cell("gutter"),
        benchmark: cell("benchmark"),
      };
    }),
  );
}

async function rowOf(page: Page, problem: string): Promise<Row> {
  const found = (await rows(page)).find((row) => row.problem === problem);
  if (!found) throw new Error(`no row ${problem} in view`);
  return found;
}

/** Scroll away from the cause, which the page opens at, to the first row. */
async function toTop(page: Page): Promise<void> {
  await page.locator("[role=row][aria-selected=true]").waitFor();
  await page.locator(".diff-scroll").evaluate((element) => element.scrollTo(0, 0));
  await page.locator("#diff-row-0").waitFor();
}

/** Click a row's chevron. */
async function clickChevron(page: Page, row: Row): Promise<void> {
  const box = await cellBox(page, row.place, "problem");
  await page.mouse.click(box.x + 18 + (row.level - 1) * 14, box.y + ROW / 2);
}

async function cellBox(page: Page, place: number, column: string) {
  const box = await page.locator(`#diff-row-${place} [data-column=${column}]`).boundingBox();
  if (!box) throw new Error(`row ${place} is not in view`);
  return box;
}

/** Pixels of a part of the page, with how many rows of them have ink in a strip of columns. */
async function picture(page: Page, clip: { x: number; y: number; width: number; height: number }) {
  return PNG.sync.read(await page.screenshot({ clip }));
}

/** Which lines of a picture hold ink: something far from the colour of its first pixel. */
function inkLines({ data, width, height }: PNG): number[] {
  const far = (at: number): boolean =>
    [0, 1, 2].reduce((sum, channel) => sum + Math.abs((data[at + channel] ?? 0) - (data[channel] ?? 0)), 0) > 200;
  return Array.from({ length: height }, (_, y) => y).filter((y) =>
    Array.from({ length: width }, (_, x) => (y * width + x) * 4).some(far),
  );
}

describe("rows", () => {
  it("show where it begins without a click, both sides at one height to the pixel", () =>
    on("tensor", async (page) => {
      const seen = await rows(page);
      const begins = seen.find((row) => row.gutter.endsWith("BEGINS"));
      expect(begins).toMatchObject({ problem: "__mul__ #0", benchmark: "not in this run" });
      expect(seen.map(({ y }) => Math.round(y - (seen[0]?.y ?? 0)))).toEqual(seen.map((_, index) => index * ROW));
      // The titles' own pixels: the same word on both sides has its ink in the same lines.
      await toTop(page);
      for (const row of (await rows(page)).filter(({ problem, benchmark }) => problem === benchmark).slice(0, 8)) {
        const [ours, theirs] = await Promise.all(
          ["problem", "benchmark"].map(async (column) => {
            const box = await cellBox(page, row.place, column);
            const left = box.x + 28 + (row.level - 1) * 14;
            return inkLines(await picture(page, { x: left, y: box.y + 2, width: 60, height: ROW - 4 }));
          }),
        );
        expect(ours?.length).toBeGreaterThan(4);
        expect(theirs).toEqual(ours);
      }
    }));

  it("are in the order of execution, and an extra call shifts nothing on either side", () =>
    on("tensor", async (page) => {
      const seen = await rows(page);
      const mlp = seen.filter(({ level }) => level === 4).map(({ problem }) => problem);
      expect(mlp).toEqual(["fc1", "gelu #1", "__mul__ #0", "fc2"]);
      const others = seen.filter(({ word }) => !word.startsWith("only") && word !== "begins");
      expect(others.every(({ problem, benchmark }) => problem === benchmark)).toBe(true);
    }));

  it("stay together when the page is resized", () =>
    on("tensor", async (page) => {
      await toTop(page);
      const before = await rows(page);
      await page.setViewportSize({ width: 1024, height: 700 });
      const after = await rows(page);
      const shown = (listed: Row[]) => listed.slice(0, 10).map(({ problem, benchmark }) => [problem, benchmark]);
      const first = after[0]?.place ?? 0;
      expect(shown(after)).toEqual(shown(before.filter(({ place }) => place >= first)));
      for (const { place } of after.slice(0, 5)) {
        const [ours, theirs] = await Promise.all(["problem", "benchmark"].map((side) => cellBox(page, place, side)));
        expect(theirs?.y).toBe(ours?.y);
      }
    }));

  it("open by chevron, double click and Enter; a click selects", () =>
    on("tensor", async (page) => {
      await toTop(page);
      const conv = await rowOf(page, "conv");
      await clickChevron(page, conv);
      await expect.poll(async () => (await rows(page)).map(({ problem }) => problem)).toContain("conv1d #0");
      await clickChevron(page, await rowOf(page, "conv"));
      await expect.poll(async () => (await rows(page)).map(({ problem }) => problem)).not.toContain("conv1d #0");
      const box = await cellBox(page, conv.place, "problem");
      await page.mouse.click(box.x + 150, box.y + ROW / 2);
      await expect.poll(() => selectedName(page)).toBe("Module.conv.Conv1d.forward.0");
      await page.mouse.dblclick(box.x + 150, box.y + ROW / 2);
      await expect.poll(async () => (await rows(page)).map(({ problem }) => problem)).toContain("conv1d #0");
      await page.locator(".diff-scroll").focus();
      await page.keyboard.press("Enter");
      await expect.poll(async () => (await rows(page)).map(({ problem }) => problem)).not.toContain("conv1d #0");
      const other = await cellBox(page, conv.place, "benchmark");
      await page.mouse.click(other.x + 150, other.y + ROW / 2);
      await page.keyboard.press("ArrowDown");
      await expect.poll(() => selectedName(page)).toBe("Tensor.transpose.1.forward");
    }));

  it("are all there after everything was opened, and none was left out", () =>
    on("tensor", async (page) => {
      await page.keyboard.press("Escape");
      await page.locator(".diff-scroll").focus();
      await page.keyboard.press("Home");
      await page.keyboard.press("e");
      const scroller = page.locator(".diff-scroll");
      // 164 nodes of the problem, the root and the rows of calls between modules.
      await expect.poll(async () => Number(await scroller.getAttribute("aria-rowcount"))).toBeGreaterThan(164);
      const total = Number(await scroller.getAttribute("aria-rowcount"));
      const places = new Set<number>();
      for (let top = 0; top < total * ROW; top += 8 * ROW) {
        await scroller.evaluate((element, y) => void (element.scrollTop = y), top);
        for (const row of await rows(page)) {
          expect(row.problem + row.benchmark).not.toBe("");
          places.add(row.place);
        }
      }
      expect(places.size).toBe(total);
    }));

  it("keep the head of an open module in view", () =>
    on("tensor", async (page) => {
      await page.locator(".diff-scroll").focus();
      await page.keyboard.press("Home");
      await page.keyboard.press("e");
      const { place } = await rowOf(page, "layers.0");
      await page.locator(".diff-scroll").evaluate((element, y) => void (element.scrollTop = y), (place + 6) * ROW);
      await rest(page);
      const box = await page.locator(CANVAS).boundingBox();
      if (!box) throw new Error("no canvas");
      // A click into the first line in view reaches the head that is kept there.
      await page.mouse.click(box.x + 300, box.y + ROW / 2);
      await expect.poll(() => selectedName(page)).toBe("Module.layers.0.Block.forward.0");
    }));

  it("show calls of one side with a gap opposite, each where it ran", () =>
    on("renamed", async (page) => {
      await page.locator(".diff-scroll").focus();
      await page.keyboard.press("Home");
      await page.keyboard.press("e");
      await rest(page);
      await page.locator(".diff-scroll").evaluate((element, y) => void (element.scrollTop = y), 18 * ROW);
      const seen = await rows(page);
      const places = ["ln2", "mlp", "ffn"].map((name) =>
        seen.findIndex(({ problem, benchmark }) => problem === name || benchmark === name),
      );
      expect(places).toEqual([...places].sort((a, b) => a - b));
      expect(seen[places[1] ?? -1]).toMatchObject({ problem: "not in this run", word: "only_benchmark" });
      expect(seen[places[2] ?? -1]).toMatchObject({ benchmark: "not in this run", word: "only_problem" });
    }));
});

describe("folds", () => {
  it("make a model of 2,000 layers a dozen rows, and unfold by one click", async () => {
    const { page, complaints } = await open(await waitForLarge());
    await graphsShown(page);
    await page.locator(".diff-scroll").evaluate((list) => list.scrollTo(0, 0));
    await expect.poll(async () => (await rows(page)).some(({ problem }) => problem.startsWith("layers.0"))).toBe(true);
    const seen = await rows(page);
    const count = async (): Promise<number> => Number(await page.locator(".diff-scroll").getAttribute("aria-rowcount"));
    expect(await count()).toBeLessThan(40);
    const [before, after] = seen.filter(({ problem }) => problem.includes("×"));
    expect(before).toMatchObject({ problem: "layers.0–999 × 1000", word: "agrees" });
    expect(after).toMatchObject({ problem: "layers.1001–1999 × 999", word: "carries" });
    if (!before) return;
    await clickChevron(page, before);
    await expect.poll(count).toBeGreaterThan(1000);
    const unfolded = await rows(page);
    const start = unfolded.findIndex(({ problem }) => problem === "layers.0–999 × 1000");
    expect(unfolded.slice(start + 1, start + 6).map(({ problem }) => problem)).toEqual([0, 1, 2, 3, 4].map((n) => `layers.${n}`));
    await clickChevron(page, unfolded[start] ?? before);
    await expect.poll(count).toBeLessThan(40);
    expect(complaints).toEqual([]);
    await page.context().close();
  }, LARGE_MS);
});

describe("flow", () => {
  it("has rails that end in the dots of the rows they join", () =>
    on("tensor", async (page) => {
      const gelu = await rowOf(page, "gelu #1");
      const cause = await rowOf(page, "__mul__ #0");
      const canvas = await page.locator(CANVAS).boundingBox();
      const side = await cellBox(page, cause.place, "problem");
      if (!canvas) throw new Error("no canvas");
      // Dots stand twelve pixels before the problem's column; the rail runs between both middles.
      const x = side.x - 12;
      const png = await picture(page, { x: x - 3, y: gelu.y, width: 7, height: 2 * ROW });
      const ink = inkLines(png);
      expect(ink).toContain(ROW / 2);
      expect(ink).toContain(ROW + ROW / 2);
      expect(ink.filter((line) => line > ROW / 2 && line < ROW + ROW / 2).length).toBeGreaterThan(8);
      // Nothing leaves a row that is not a neighbour: its dot stands alone.
      const head = await picture(page, { x: x - 3, y: cause.y, width: 7, height: ROW });
      expect(inkLines(head).length).toBeGreaterThan(6);
    }));

  it("shows with G only what lies on the way from the cause to the selection", () =>
    on("tensor", async (page) => {
      await page.locator("[role=row][aria-selected=true]").waitFor();
      const head = await rowOf(page, "head");
      const all = Number(await page.locator(".diff-scroll").getAttribute("aria-rowcount"));
      const box = await cellBox(page, head.place, "problem");
      await page.mouse.click(box.x + 150, box.y + ROW / 2);
      await expect.poll(() => selectedName(page)).toContain("head");
      await page.keyboard.press("g");
      await expect
        .poll(async () => Number(await page.locator(".diff-scroll").getAttribute("aria-rowcount")))
        .toBeLessThan(all);
      const seen = (await rows(page)).map(({ problem }) => problem);
      expect(seen).toEqual(expect.arrayContaining(["__mul__ #0", "fc2", "head"]));
      expect(seen).not.toContain("emb");
      await page.keyboard.press("g");
      await expect.poll(async () => Number(await page.locator(".diff-scroll").getAttribute("aria-rowcount"))).toBe(all);
    }));
});

describe("profile", () => {
  it("goes where it is clicked, and its frame follows the rows", () =>
    on("tensor", async (page) => {
      await page.locator(".diff-scroll").focus();
      await page.keyboard.press("Home");
      await page.keyboard.press("e");
      await rest(page);
      const strip = await page.locator(".profile").boundingBox();
      if (!strip) throw new Error("no profile");
      const frame = async () => (await page.locator(".profile-lens").boundingBox())?.x ?? 0;
      const before = await frame();
      await page.mouse.click(strip.x + strip.width * 0.8, strip.y + 60);
      await expect.poll(frame).toBeGreaterThan(before + strip.width / 2);
      const { place } = (await rows(page))[0] ?? { place: 0 };
      expect(place).toBeGreaterThan(100);
      await page.locator(".profile").focus();
      await page.keyboard.press("Home");
      await expect.poll(async () => (await rows(page))[0]?.place).toBe(0);
      // A click on a layer fills the strip with it, and its rows come into view.
      await page.mouse.click(strip.x + strip.width * 0.3, strip.y + 26);
      const whole = page.getByRole("button", { name: "Whole", exact: true });
      await whole.waitFor();
      await expect.poll(async () => (await rows(page))[0]?.place).toBeGreaterThan(5);
      await whole.click();
      await expect.poll(() => whole.count()).toBe(0);
    }));
});

describe("a single graph and failures", () => {
  it("shows a single graph, and the error of a pair that failed", async () => {
    await on("single", async (page) => {
      await page.locator(".boxes-frame").waitFor();
      await page.keyboard.press("v");
      await page.locator(CANVAS).waitFor();
      const [first] = await rows(page);
      expect(first?.problem).toBe("DefaultModel");
      await expect.poll(() => page.locator("[data-column=benchmark]").count()).toBe(0);
      // What was recorded is said; no run lacks what the other has, for there is no other.
      await expect.poll(() => page.locator(".about").innerText()).toContain("statistics");
      await query(page, "linear forward");
      await page.keyboard.press("Enter");
      await page.locator(".value-table").waitFor();
      await expect.poll(() => page.locator(".bottom").innerText()).not.toMatch(/problem/i);
      await expect.poll(() => page.locator(".profile").getAttribute("title")).toMatch(/Norms .* from \S+ to \S+/);
    });
    await on("renamed", async (page) => {
      // Its second step is in the benchmark alone: the page says so, and leads on.
      await page.getByRole("gridcell", { name: /on one side only/ }).first().click();
      const missing = page.locator(".pair-failed.missing");
      await expect.poll(() => missing.innerText()).toMatch(/is in the Benchmark run only[\s\S]*nothing to compare it with/);
      await expect.poll(() => missing.locator(".command").innerText()).toContain("msprobe graph_visualize -tp ");
      await expect.poll(() => page.locator(".legend-count").allInnerTexts()).toEqual(["Not compared"]);
      await missing.getByRole("button", { name: /which both runs have/ }).click();
      await page.locator(CANVAS).waitFor();
    });
    await on("failed", async (page) => {
      await page.getByRole("gridcell", { name: "step 1, rank 1: failed" }).click();
      await page.locator(".pair-failed").waitFor();
      await expect.poll(() => page.locator(".pair-failed pre").innerText()).toContain("dump.json");
    });
  });

  it("keeps the rows and says so when the server answers no more", () =>
    on("tensor", async (page, opened) => {
      await toTop(page);
      const before = await rows(page);
      await page.route("**/rows?*", (route) => route.abort());
      await page.locator(".diff-scroll").focus();
      await page.keyboard.press("c");
      await page.locator(".failure").first().waitFor();
      const kept = (await rows(page)).map(({ problem }) => problem);
      expect(kept.length).toBeGreaterThan(5);
      expect(before.map(({ problem }) => problem)).toEqual(expect.arrayContaining(kept));
      opened.complaints.length = 0;
      await page.unroute("**/rows?*");
      await page.getByRole("button", { name: "Try again" }).first().click();
      await expect.poll(() => page.locator(".failure").count()).toBe(0);
    }));
});

describe("colours", () => {
  it.each(["light", "dark"] as const)("leave healthy rows without red, in %s alike", (colorScheme) =>
    on(
      "renamed",
      async (page) => {
        const counted = await coloursOf(page);
        const red = [...counted].filter(([name]) => {
          const [r = 0, g = 0, b = 0] = name.split(" ").map(Number);
          return r > 120 && r > g + 60 && r > b + 60;
        });
        expect(red).toEqual([]);
      },
      { colorScheme },
    ));

  it("are those of the overflow levels when asked for", () =>
    on("nan", async (page) => {
      const high = rampColor(OVERFLOW_SCORE.high, "light").slice(4, -1);
      expect((await coloursOf(page)).get(high) ?? 0).toBeLessThan(20);
      await page.keyboard.press("o");
      await stateIs(page, "colour", "overflow");
      await expect.poll(async () => (await coloursOf(page)).get(high) ?? 0).toBeGreaterThan(40);
    }));
});

/** The address of the comparison of 100,000 nodes a side, which is built beside the first tests. */
async function waitForLarge(): Promise<string> {
  const until = Date.now() + LARGE_MS / 2;
  for (;;) {
    const address = await addressOf(places.standalone, "large").catch(() => null);
    if (address !== null) return address;
    if (Date.now() > until) throw new Error("the large comparison was not built");
    await new Promise((next) => setTimeout(next, 500));
  }
}

/** How often each colour occurs among the rows, as "r g b". */
async function coloursOf(page: Page): Promise<Map<string, number>> {
  const { data } = PNG.sync.read(await page.locator(CANVAS).screenshot());
  const counted = new Map<string, number>();
  for (let at = 0; at < data.length; at += 4) {
    const name = `${data[at]} ${data[at + 1]} ${data[at + 2]}`;
    counted.set(name, (counted.get(name) ?? 0) + 1);
  }
  return counted;
}
