/* Manual mapping: pick, map, refuse, undo, hand on and take in, where the folder is read-only too. */
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { describe, expect, inject, it } from "vitest";

import { addressOf, downloaded, graphsShown, on, open, pick, query, rest, selectedName, tab, withBrowser } from "./page";

withBrowser();
const places = inject("places");
const OURS = "Module.layers.0.ffn.MLP.forward.0";
const THEIRS = "Module.layers.0.mlp.MLP.forward.0";

async function mapPicked(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Map", exact: true }).click();
  await page.locator(".mapped li").first().waitFor();
}

const pairs = (page: Page) => page.locator(".mapped li");
const anew = async (page: Page): Promise<number> =>
  Number(/\d+/.exec(await page.locator(".outcome").innerText())?.[0]);

/** Fill in the form that is shown and build the comparison of the renamed model. */
async function buildRenamed(page: Page): Promise<void> {
  const choices = page.locator(".build-form select");
  await choices.first().waitFor();
  const dumps = await choices.first().locator("option").allInnerTexts();
  for (const [index, side] of ["dumps/problem ", "dumps/bench "].entries()) {
    await choices.nth(index).selectOption({ label: dumps.find((one) => one.includes(side)) ?? side });
  }
  await page.locator(".build-form").getByLabel("Manual mapping file").fill("");
  await page.getByRole("button", { name: "Build", exact: true }).click();
  await expect.poll(() => answer(page), { timeout: 60_000 }).toContain("56 nodes have no partner");
}

/** The answer of the comparison that was built with the pairs: whatever lies below them is paired too. */
async function wholeAnswer(page: Page): Promise<void> {
  await expect.poll(() => answer(page), { timeout: 60_000 }).toContain("372 values have equal statistics");
  await expect.poll(() => answer(page)).not.toContain("nodes have no partner;");
}

/** The answer, once there is one. */
async function answer(page: Page): Promise<string> {
  const said = page.locator(".answer");
  return (await said.count()) === 0 ? "" : said.innerText();
}

describe("mapping", () => {
  it("measures anew and is kept by a reload, with or without descendants, in either order of picks", () => {
    const file = join(places.logdir, "mapping/mapping.mapping.json");
    // What an earlier try has mapped.
    rmSync(file, { force: true });
    return on("mapping", async (page) => {
      await pick(page, THEIRS);
      await pick(page, OURS);
      const below = page.getByLabel("Map everything below too");
      await below.uncheck();
      await mapPicked(page);
      const alone = await anew(page);
      await page.getByRole("button", { name: "Undo" }).click();
      await expect.poll(() => pairs(page).count()).toBe(0);
      await pick(page, OURS);
      await pick(page, THEIRS);
      // The panel was left for the nodes table meanwhile; the choice holds, as it does for what is dragged.
      await expect.poll(() => below.isChecked()).toBe(false);
      await below.check();
      await mapPicked(page);
      await expect.poll(() => anew(page)).toBeGreaterThan(alone);
      await page.locator(".mapped li button").first().click();
      await expect.poll(() => selectedName(page)).toBe(OURS);
      await expect.poll(() => page.locator(".selected-head").innerText()).toContain("mapped by hand");
      await expect.poll(() => page.locator(".value-table .chip").last().innerText()).toBe("0.00");
      expect(readFileSync(file, "utf8")).toContain(OURS);

      await page.reload();
      await graphsShown(page);
      await tab(page, "Mapping");
      await expect.poll(() => pairs(page).count()).toBe(1);
      const saved = await downloaded(page, () => page.getByRole("button", { name: "Download mapping file" }).click());
      expect(saved.name).toBe("mapping.mapping.json");
      await page.getByRole("button", { name: "Unmap all" }).click();
      await expect.poll(() => pairs(page).count()).toBe(0);
      await expect.poll(() => page.locator(".outcome").innerText()).toContain("Taken back");
      await page.keyboard.press("Control+z");
      await expect.poll(() => pairs(page).count()).toBe(1);
      await page.keyboard.press("Control+Shift+z");
      await expect.poll(() => pairs(page).count()).toBe(0);
      const input = page.locator('input[type="file"]');
      await input.setInputFiles({ name: "my.json", mimeType: "application/json", buffer: saved.content });
      await expect.poll(() => pairs(page).count()).toBe(1);
      await input.setInputFiles({ name: "bad.json", mimeType: "application/json", buffer: Buffer.from("{}") });
      await expect.poll(() => page.locator(".notice").innerText()).toContain("bad.json is not a mapping file");
    });
  });

  it("says why a pair is refused", () =>
    on("renamed", async (page) => {
      await pick(page, OURS);
      // The benchmark's calls stand first here, as in the rows.
      await pick(page, "Functional.linear");
      await page.getByRole("button", { name: "Map", exact: true }).click();
      await expect.poll(() => page.locator(".refused").first().innerText()).toMatch(
        /one is (module|api), the other (api|module)/,
      );
    }));

  it("takes back its own change only, whatever another page mapped meanwhile", () =>
    on("shared", async (page) =>
      on("shared", async (other) => {
        const layer = (name: string, index: number) => name.replace("layers.0", `layers.${index}`);
        for (const [one, index] of [[page, 0], [other, 1]] as const) {
          await pick(one, layer(OURS, index));
          await pick(one, layer(THEIRS, index));
          await one.getByRole("button", { name: "Map", exact: true }).click();
          await one.getByText(/measured anew/).waitFor();
        }
        // Each shows what the other mapped, in its list and in its rows, without being asked.
        for (const one of [page, other]) await expect.poll(() => pairs(one).count()).toBe(2);
        await query(page, `"${layer(OURS, 1)}"`);
        await page.locator(".table-row").first().click();
        await expect.poll(() => page.locator(".selected-head").innerText()).toContain("mapped by hand");
        await tab(page, "Mapping");
        await page.getByRole("button", { name: "Undo" }).click();
        await expect.poll(() => pairs(page).allInnerTexts()).toEqual([expect.stringContaining("layers.1.ffn")]);
        await other.getByRole("button", { name: "Undo" }).click();
        await expect.poll(() => pairs(other).count()).toBe(0);
      }),
    ));

  it("proposes renamed modules with reasons: map both, undo, map, rebuild in six clicks", async () => {
    const { page, complaints } = await open(`${places.renaming}index.html`);
    await buildRenamed(page);
    await tab(page, "Mapping");
    const proposals = page.locator(".proposals li");
    await expect.poll(() => proposals.count()).toBe(3);
    await expect
      .poll(() => proposals.first().innerText())
      .toMatch(/ffn ↔ mlp.*same parameter shapes \(4\).*same place among its neighbours.*2 places/s);
    await expect.poll(() => answer(page)).toContain("3 renamings are likely among them.");
    await page.getByRole("button", { name: "Map all 2: ffn ↔ mlp" }).click();
    await expect.poll(() => pairs(page).count()).toBe(2);
    await page.getByRole("button", { name: "Undo" }).click();
    await expect.poll(() => pairs(page).count()).toBe(0);
    await expect.poll(() => page.locator(".outcome").innerText()).toContain("as they were before");
    await expect.poll(() => answer(page)).not.toContain("were changed");
    await page.getByRole("button", { name: "Map all 2: ffn ↔ mlp" }).click();
    await expect.poll(() => pairs(page).count()).toBe(2);
    await expect.poll(() => answer(page)).toContain("With pairs made by hand nothing measured diverges");
    // What is said is of these pairs: that it is older would be wrong.
    await expect.poll(() => answer(page)).not.toContain("were changed");
    await page.getByRole("button", { name: "Rebuild with these pairs…" }).click();
    const form = page.getByRole("dialog");
    await expect.poll(() => form.getByRole("combobox", { name: /^Problem/ }).inputValue()).toContain("dumps/problem");
    await expect.poll(() => form.getByLabel("Manual mapping file").inputValue()).toMatch(/\.mapping\.json$/);
    await form.getByRole("button", { name: "Build", exact: true }).click();
    await form.waitFor({ state: "detached", timeout: 60_000 });
    await wholeAnswer(page);
    await expect.poll(() => answer(page)).not.toContain("were changed");
    await page.getByText("This result was built with these pairs.").waitFor();
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  it("is done by keys in six: proposals, accept, undo, accept, rebuild, build", async () => {
    const { page, complaints } = await open(`${places.renaming}index.html`);
    await page.locator("canvas.diff-canvas").waitFor();
    await page.getByRole("button", { name: "Build a comparison" }).click();
    await buildRenamed(page);

    await page.keyboard.press("5");
    await expect.poll(() => page.locator(".proposals li").first().innerText()).toMatch(/ffn ↔ mlp.*same parameter shapes.*2 places/s);
    await page.keyboard.press("a");
    await expect.poll(() => pairs(page).count()).toBe(2);
    await page.keyboard.press("Control+z");
    await expect.poll(() => pairs(page).count()).toBe(0);
    await page.keyboard.press("a");
    await expect.poll(() => pairs(page).count()).toBe(2);
    await expect.poll(() => page.locator(".notice").innerText()).toContain("Mapped ffn ↔ mlp");
    await page.keyboard.press("r");
    const form = page.getByRole("dialog");
    const build = form.getByRole("button", { name: "Build", exact: true });
    await expect.poll(() => build.evaluate((button) => button === document.activeElement)).toBe(true);
    await page.keyboard.press("Enter");
    await form.waitFor({ state: "detached", timeout: 60_000 });
    await wholeAnswer(page);
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  it("keeps thousands of pairs of a session, for their names travel and not they", async () => {
    const { page, complaints } = await open(await addressOf(places.readonly, "renamed"));
    await graphsShown(page);
    await tab(page, "Mapping");
    const many = Array.from({ length: 3000 }, (_, index) => ({
      problem: `Module.layers.${index}.left.Linear.forward.0`,
      benchmark: `Module.layers.${index}.right.Linear.forward.0`,
      descendants: false,
      step: null,
      rank: null,
    }));
    const pair = { problem: OURS, benchmark: THEIRS, descendants: true, step: null, rank: null };
    const buffer = Buffer.from(JSON.stringify({ version: 1, pairs: [pair, ...many] }));
    await page.locator('input[type="file"]').setInputFiles({ name: "many.json", mimeType: "application/json", buffer });
    await expect.poll(() => pairs(page).count()).toBe(3001);
    await query(page, `"${OURS}"`);
    await page.locator(".table-row").first().click();
    await expect.poll(() => page.locator(".selected-head").innerText()).toContain("mapped by hand");
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  it("lists the weights of two programs, and gives a file to correct them in", () =>
    on("programs", async (page) => {
      await tab(page, "Mapping");
      const weights = page.locator("section", { hasText: "pairs of weights" });
      // Pairs, not weights: the sentence above counts these, without what an optimizer alone reads.
      await expect.poll(() => weights.getByRole("heading").innerText()).toBe("3 pairs of weights");
      await expect.poll(() => weights.locator("li").count()).toBe(3);
      await weights.getByLabel("part of a path").fill("TWO");
      await expect.poll(() => weights.locator("li").allInnerTexts()).toEqual([expect.stringContaining("a.two.weight")]);
      await weights.locator("li button").first().click();
      await expect.poll(() => selectedName(page)).toBe("Module.a.two.Linear.forward.0");
      const save = () => weights.getByRole("button", { name: "Download with weights" }).click();
      const { content } = await downloaded(page, save);
      expect(JSON.parse(content.toString())).toMatchObject({
        weights: ["one", "two", "three"].map((name) => ({ problem: [`a.${name}.weight`], benchmark: [`b.${name}.weight`] })),
      });
    }));

  it("stays in the page where the folder is read-only, and offers the download", async () => {
    const { page, complaints } = await open(await addressOf(places.readonly, "renamed"));
    await graphsShown(page);
    await pick(page, OURS);
    await pick(page, THEIRS);
    await mapPicked(page);
    await page.getByText("The folder cannot be written").waitFor();
    await rest(page);
    await page.locator(".mapped li button").first().click();
    await expect.poll(() => page.locator(".selected-head").innerText()).toContain("mapped by hand");
    const { content } = await downloaded(page, () => page.getByRole("button", { name: "Download mapping file" }).click());
    expect(content.toString()).toContain(OURS);
    expect(existsSync(join(places.readonlyFolder, "renamed/renamed.mapping.json"))).toBe(false);
    await page.reload();
    await graphsShown(page);
    await tab(page, "Mapping");
    await expect.poll(() => pairs(page).count()).toBe(1);
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  it("is shown but not offered by a server that was started read-only", async () => {
    const { page, complaints } = await open(await addressOf(places.viewing, "renamed"));
    await graphsShown(page);
    await query(page, `unmatched ${OURS}`);
    await page.locator(".table-row").first().waitFor();
    await expect.poll(() => page.getByRole("button", { name: /for a mapping/ }).count()).toBe(0);
    await expect.poll(() => page.getByRole("button", { name: "Build a comparison" }).count()).toBe(0);
    await tab(page, "Mapping");
    await page.getByText("This server was started read-only").waitFor();
    await expect.poll(() => page.getByRole("button", { name: "Map", exact: true }).count()).toBe(0);
    expect(complaints).toEqual([]);
    await page.context().close();
  });
});
