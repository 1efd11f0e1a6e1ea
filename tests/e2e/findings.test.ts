/* Causes, the nodes table and overflow: the lists that lead to a node. */
import type { Locator, Page } from "playwright-core";
import { describe, expect, it } from "vitest";

import { downloaded, graphsShown, on, query, rest, selectedName, stateIs, tab, withBrowser } from "./page";

withBrowser();
const cards = (page: Page) => page.locator(".findings > .finding");
const count = (page: Page) => page.locator(".search-count").innerText();

describe("causes", () => {
  it("are one card each however many ranks they are on, and stepped through with N and P", () =>
    on("ranks", async (page) => {
      await expect.poll(() => cards(page).count()).toBe(1);
      await expect.poll(() => cards(page).first().innerText()).toContain("2 ranks (0–1), from step 0");
      await expect.poll(() => selectedName(page)).toContain("__mul__");
      await stateIs(page, "rank", "0");
      await page.keyboard.press("n");
      await stateIs(page, "rank", "1");
      await expect.poll(() => selectedName(page)).toContain("__mul__");
      await page.keyboard.press("p");
      await stateIs(page, "rank", "0");
      for (const key of ["n", "p", "n", "n", "n"]) await page.keyboard.press(key);
      await stateIs(page, "rank", "1");
      await page.getByRole("button", { name: "in 1 place in this step and rank, 4 in all steps and ranks" }).click();
      await page.getByRole("button", { name: "layers.1.mlp › __mul__ #0 · step 0 · rank 0", exact: true }).click();
      await stateIs(page, "rank", "0");
      await expect.poll(() => selectedName(page)).toContain("__mul__");
    }));

  it("are told of above when their card is chosen", () =>
    on("causes", async (page) => {
      await expect.poll(() => cards(page).count()).toBe(2);
      const told = async (): Promise<string> => page.locator(".answer h1").innerText();
      for (const index of [1, 0]) {
        const card = cards(page).nth(index);
        await card.locator(".finding-main").click();
        const module = /layers\.[\w.]+/.exec(await card.innerText())?.[0] ?? "no module";
        await expect.poll(told).toContain(module);
        await expect.poll(() => page.locator(".pager").innerText()).toContain(`${index + 1} of 2`);
      }
    }));

  it("are gone to by the arrows beside the answer, in rows, graph, values and outline alike", () =>
    on("causes", async (page) => {
      const told = async (): Promise<string> => page.locator(".answer h1").innerText();
      const arrow = (name: string) => page.getByRole("button", { name, exact: true }).first();
      const first = await selectedName(page);
      const start = await told();
      await arrow("Next cause").click();
      await expect.poll(told).not.toBe(start);
      await expect.poll(() => selectedName(page)).not.toBe(first);
      const second = await selectedName(page);
      // The headline is of what is selected, in the step and rank on screen.
      const [, rank = "?"] = /rank (\d)/.exec(await told()) ?? [];
      await stateIs(page, "rank", rank);
      await page.locator("[role=row][aria-selected=true][data-word=begins]").waitFor();
      await arrow("Previous cause").click();
      await expect.poll(told).toBe(start);
      await expect.poll(() => selectedName(page)).toBe(first);
      await page.locator("[role=row][aria-selected=true][data-word=begins]").waitFor();
      await page.keyboard.press("v");
      await page.locator(".boxes-frame").waitFor();
      await arrow("Next cause").click();
      await expect.poll(() => selectedName(page)).toBe(second);
      await page.locator(".box[data-word=begins]").first().waitFor();
      await tab(page, "Outline");
      await page.locator(".outline-name.begins").first().waitFor();
    }));

  it("have one count of what diverges: over the page, in the answer, on the card and in both lists", () =>
    on("tensor", async (page) => {
      const numbers = async (place: Locator): Promise<number[]> => [...(await place.innerText()).matchAll(/\d+/g)].map(Number);
      const card = page.getByRole("button", { name: /divergent nodes in this step trace back to it/ });
      // How many trace back to it, of how many, and how many perhaps.
      await expect.poll(async () => (await numbers(card)).length).toBe(3);
      const [back = 0, divergent = 0] = await numbers(card);
      await expect.poll(() => page.locator(".answer-side p").innerText()).toContain(`${back} of ${divergent} divergent nodes in this step`);
      await expect.poll(() => page.locator(".legend-count .in-words").first().innerText()).toBe(`${divergent} divergent`);
      await card.click();
      await expect.poll(() => page.locator(".propagated li").count()).toBe(back);
      const perhaps = page.getByRole("button", { name: /divergent nodes in this step may trace back to a cause/ });
      await expect.poll(async () => (await numbers(perhaps))[1]).toBe(divergent);
      const [guessed = 0] = await numbers(perhaps);
      const others = page.getByRole("button", { name: /divergent nodes in this step (trace back to no cause|run after a cause)/ });
      const left = divergent - back - guessed;
      await expect.poll(() => others.count()).toBe(left > 0 ? 1 : 0);
      if (left > 0) await expect.poll(() => numbers(others)).toEqual([left, divergent]);
      await perhaps.click();
      await expect.poll(() => page.locator(".propagated li").count()).toBe(back + guessed);
      if (left > 0) await others.click();
      await expect.poll(() => page.locator(".propagated li").count()).toBe(divergent);
      await page.getByRole("button", { name: `${divergent} divergent`, exact: true }).click();
      await expect.poll(() => count(page)).toBe(`${divergent} nodes`);
    }));

  it("fold out the nodes that go back to them", () =>
    on("tensor", async (page) => {
      await page.getByRole("button", { name: /divergent nodes in this step trace back to it/ }).click();
      await page.locator(".propagated li button").first().click();
      await expect.poll(() => selectedName(page)).toMatch(/linear|fc2/);
    }));

  it("are marked in the rows of every step and rank that they are on, with their score", () =>
    on("ranks", async (page) => {
      const score = await page.locator(".finding .chip").first().innerText();
      await expect.poll(() => page.locator(".answer h1 .chip").innerText()).toBe(score);
      await expect.poll(() => page.locator(".selected-head .chip").innerText()).toBe(score);
      const row = page.locator("[role=row][aria-selected=true][data-word=begins]");
      await expect.poll(() => row.locator("[data-column=gutter]").getAttribute("aria-label")).toContain(score);
      await page.keyboard.press("n");
      await stateIs(page, "rank", "1");
      await row.waitFor();
    }));
});

describe("nodes table", () => {
  it("lists a matched pair once, and unmatched nodes of either side", () =>
    on("renamed", async (page) => {
      await page.keyboard.press("Control+k");
      await page.keyboard.type("qkv.Linear.forward");
      await expect.poll(() => count(page)).toBe("2 nodes");
      await expect.poll(() => page.locator(".table-row .side-dot").count()).toBe(0);
      await query(page, "mlp.fc1.Linear.forward");
      await expect.poll(() => page.locator(".table-row .side-dot.benchmark").count()).toBe(2);
      await page.keyboard.press("Enter");
      await expect.poll(() => selectedName(page)).toContain("mlp.fc1");
      await page.keyboard.press("Shift+Enter");
      await expect.poll(() => count(page)).toBe("2 of 2");
      await stateIs(page, "q", "mlp.fc1.Linear.forward");
    }));

  it("lists and exports by score over all steps and ranks, in three clicks, as the link does", () =>
    on("ranks", async (page) => {
      await page.locator("#search").fill("linear score>0.5 forward");
      await page.getByRole("button", { name: "everywhere" }).click();
      await stateIs(page, "scope", "all");
      // Until the answer over all steps and ranks is there, the count says that it is awaited.
      await expect.poll(() => count(page)).toMatch(/^\d+ nodes/);
      const total = Number.parseInt(await count(page), 10);
      const { name, content } = await downloaded(page, () => page.getByRole("button", { name: "CSV", exact: true }).click());
      expect(name).toBe("ranks-nodes.csv");
      const [head = "", ...lines] = content.toString().trim().split(/\r?\n/);
      expect(head.replace("\ufeff", "").split(",").slice(0, 4)).toEqual(["step", "rank", "module", "name"]);
      expect(lines).toHaveLength(total);
      const places = new Set(lines.map((line) => line.split(",").slice(0, 2).join()));
      expect([...places].sort()).toEqual(["0,0", "0,1", "1,0", "1,1"]);
      for (const line of lines) expect(line).toContain("inear");
      const workbook = await downloaded(page, () => page.getByRole("button", { name: "XLSX", exact: true }).click());
      expect(workbook.content.subarray(0, 2).toString()).toBe("PK");
      const rows = JSON.parse(
        (await downloaded(page, () => page.getByRole("button", { name: "JSON", exact: true }).click())).content.toString(),
      ) as { score: number }[];
      expect(rows.every(({ score }) => score > 0.5)).toBe(true);

      await page.getByLabel("Order", { exact: true }).selectOption("score");
      await expect.poll(() => firstScores(page)).toEqual(descending);
      await stateIs(page, "sort", "score");
      await page.reload();
      await graphsShown(page);
      await expect.poll(() => count(page)).toBe(`${total} nodes`);
      await expect.poll(() => page.getByLabel("Order", { exact: true }).inputValue()).toBe("score");
    }));

  it("goes by keys alone from the box into the table and through its rows", () =>
    on("tensor", async (page) => {
      await page.keyboard.press("/");
      await page.keyboard.type("gelu forward");
      await expect.poll(() => count(page)).toMatch(/^\d+ nodes/);
      await page.getByRole("grid", { name: "Nodes" }).focus();
      await page.keyboard.press("ArrowDown");
      await expect.poll(() => selectedName(page)).toMatch(/gelu\.0/i);
      await page.keyboard.press("ArrowDown");
      await expect.poll(() => selectedName(page)).toMatch(/gelu\.1/i);
    }));

  it("goes to a hit of what was typed last, however slow its answer", () =>
    on("tensor", async (page) => {
      await page.route("**/nodes?*", async (route) => {
        if (route.request().url().includes("q=gelu")) await new Promise((next) => setTimeout(next, 1500));
        await route.continue();
      });
      await query(page, "linear");
      await page.locator("#search").fill("gelu");
      await page.keyboard.press("Shift+Enter");
      await expect.poll(() => count(page)).toBe("…");
      await expect.poll(() => count(page)).toMatch(/^(\d+) of \1$/);
      await expect.poll(() => selectedName(page)).toMatch(/gelu/i);
    }));

  it("keeps the hit chosen last where the way to an earlier one was longer", () =>
    on("tensor", async (page) => {
      let ways = 0;
      let late: Promise<unknown> | undefined;
      await page.route("**/path", (route) => {
        const pause = ways++ === 0 ? 1500 : 0;
        const passed = new Promise((next) => setTimeout(next, pause)).then(() => route.continue());
        late ??= passed.then(() => route.request().response()).then((answer) => answer?.finished());
      });
      await query(page, "gelu");
      await page.keyboard.press("Enter");
      await page.keyboard.press("Shift+Enter");
      await expect.poll(() => selectedName(page)).toMatch(/gelu/i);
      const last = await selectedName(page);
      await late;
      await rest(page);
      await expect.poll(() => selectedName(page)).toBe(last);
    }));

  it("proposes the nearest names where none fits, and offers no files of nothing", () =>
    on("tensor", async (page) => {
      await page.locator("#search").fill("sofmax forward");
      await page.getByText("has “sofmax” in its name").waitFor();
      for (const form of ["CSV", "XLSX", "JSON"]) {
        await expect.poll(() => page.getByRole("button", { name: form, exact: true }).isDisabled()).toBe(true);
      }
      await page.getByRole("button", { name: "softmax", exact: true }).click();
      await expect.poll(() => count(page)).toMatch(/^[1-9]\d* nodes?$/);
      await expect.poll(() => page.locator("#search").inputValue()).toBe("softmax forward");
      await expect.poll(() => page.getByRole("button", { name: "CSV", exact: true }).isDisabled()).toBe(false);
    }));

  it("says what is wrong with a query, and stops an expression that never ends on the server", () =>
    on("tensor", async (page, { complaints }) => {
      await query(page, "/fc[12].*forward/");
      await expect.poll(() => count(page)).toBe("4 nodes");
      for (const [text, said] of [
        ["/fc[/", "no regular expression"],
        ["score>high", "score>0.5"],
        ["colour:red", "is no field"],
      ] as const) {
        await page.locator("#search").fill(text);
        await expect.poll(() => page.locator(".panel .failure").innerText()).toContain(said);
      }
      // Run in the page, this would hold its only thread for minutes.
      await page.locator("#search").fill("/((((\\w|\\.)+)+)+)+$%/");
      const began = Date.now();
      await page.locator("#search").fill("gelu");
      await expect.poll(() => count(page)).toMatch(/^\d+ nodes/);
      expect(Date.now() - began).toBeLessThan(10_000);
      complaints.length = 0; // the refused queries are failed requests
    }));
});

async function firstScores(page: Page): Promise<number[]> {
  const shown = await page.locator(".table-row .chip").allInnerTexts();
  return shown.slice(0, 8).map(Number);
}

const descending = {
  asymmetricMatch: (scores: number[]) =>
    scores.length > 1 && scores.every((score, index) => index === 0 || score <= (scores[index - 1] ?? 0)),
};

describe("overflow", () => {
  it("recolours and lists by level, whether or not the build asked for levels", async () => {
    await on("nan", async (page) => {
      expect((await page.locator(".legend .ramp").boundingBox())?.width).toBeGreaterThan(40);
      await page.getByRole("switch", { name: "Colour by overflow level" }).click();
      await stateIs(page, "colour", "overflow");
      await tab(page, "Overflow");
      await expect.poll(() => page.locator(".row").first().innerText()).toContain("log");
      // The call that makes the first NaN stands in front of all levels, and for a query of them.
      const first = page.locator(".nonfinite-line");
      await expect.poll(() => first.innerText()).toMatch(/^log #\d+ makes the first NaN of this step, in output\.0/);
      await query(page, "overflow:high");
      await expect.poll(() => first.innerText()).toContain("makes the first NaN");
      await first.getByRole("button").click();
      await expect.poll(() => selectedName(page)).toContain("log");
    });
    await on("tensor", async (page) => {
      await page.keyboard.press("o");
      await stateIs(page, "colour", "overflow");
      await expect.poll(() => page.locator(".legend").innerText()).not.toContain("no levels");
      await tab(page, "Overflow");
      await expect.poll(() => page.locator(".command").count()).toBe(0);
    });
  });
});
