/* A leap of the loss with no dump at hand: from the trends to the call that makes it. */
import { type ChildProcess, execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";

import { trendsEn } from "../../tb_graph_ascend/frontend/src/i18n/trends.en";
import { graphsShown, open, openBlank, selectedName, withBrowser } from "./page";
import { ROOT, freePort, launch, pythonPath } from "./setup";
import { SIZES, cutTexts } from "./uncut";

withBrowser();

const work = mkdtempSync(join(tmpdir(), "trends-"));
const logs = join(work, "logs");
const run = promisify(execFile);
const processes: ChildProcess[] = [];
let address: string;

/** Run Python beside the browser; what it says. */
async function python(...args: string[]): Promise<string> {
  const environment = { ...process.env, PYTHONPATH: ROOT, OMP_NUM_THREADS: "1" };
  return (await run(pythonPath(), args, { cwd: work, env: environment })).stdout;
}

function train(name: string, ...more: string[]): Promise<string> {
  return python(join(ROOT, "examples/loss_spike.py"), join(logs, name), ...more);
}

beforeAll(async () => {
  await Promise.all([train("sound"), train("spiked", "--fault")]);
  const port = await freePort();
  address = `http://localhost:${String(port)}/`;
  await launch(processes, [pythonPath(), "-m", "msprobe", "serve", logs, "--port", String(port)], address);
}, 240_000);

afterAll(() => {
  processes.forEach((one) => one.kill("SIGKILL"));
  rmSync(work, { recursive: true, force: true });
});

test("a leap of the loss leads to the call that makes it, with no dump at hand", async () => {
  const { page, complaints } = await open(address);
  // Folders that hold trends alone open on them, the runs by name; the spiked one has an alert.
  await page.getByLabel(trendsEn.run, { exact: true }).selectOption({ label: "spiked" });
  const alert = page.getByRole("region", { name: trendsEn.alerts }).getByRole("button");
  await expect.poll(() => alert.first().innerText()).toMatch(/^120 /);
  await alert.first().click();
  await expect.poll(() => new URL(page.url()).searchParams.get("at") ?? page.url()).toContain("120");

  // Beside the other run one reads where they part; its button chooses step and series.
  await page.getByLabel(trendsEn.other, { exact: true }).selectOption({ label: "sound" });
  const parting = page.locator(".trend-parting");
  await expect.poll(() => parting.innerText()).toContain("step 120: output of layers.2.down");
  // The map says at which steps its columns are, and marks the one at which they part.
  const axis = page.locator(".trend-axis");
  await expect.poll(() => axis.innerText()).toContain(trendsEn.partedAt.replace("{{step}}", "120"));
  const written = (await axis.locator("span").allInnerTexts()).map(Number);
  expect(written.length).toBeGreaterThan(2);
  expect(written).toEqual([...written].sort((a, b) => a - b));
  const line = await page.locator(".trend-parted").boundingBox();
  const cells = await page.locator(".trend-cells").boundingBox();
  const last = Number(await page.getByRole("slider").getAttribute("aria-valuemax"));
  expect(((line?.x ?? 0) - (cells?.x ?? 0)) / (cells?.width ?? 1)).toBeCloseTo(120 / (last + 1), 2);
  // The series that part with it are counted, and listed by a click; each leads to its line.
  await parting.getByRole("button", { name: trendsEn.parting.others }).click();
  const others = parting.locator(".trend-others button");
  await expect.poll(() => others.count()).toBeGreaterThan(0);
  await others.first().click();
  await expect.poll(() => page.locator(".trend-keys").first().innerText()).toContain(await others.first().innerText());
  await parting.getByRole("button").first().click();
  await expect.poll(() => page.locator(".trend-status").innerText()).toMatch(/^Step 120 of layers\.2\.down: /);

  // Below the map and at the right the same number stands, to the same digits; both lines have a name.
  const apart = async (place: string): Promise<string> => /[\d.]+ octaves apart/.exec(await page.locator(place).innerText())?.[0] ?? place;
  await expect.poll(async () => (await apart(".trend-status")) === (await apart(".trend-ranks"))).toBe(true);
  expect(await page.locator(".trend-side .trend-runs").innerText()).toMatch(/solid: spiked\s+dashed: sound/);

  // As a table each step has the values of both runs, and how far they are apart.
  await page.getByLabel(trendsEn.table).check();
  const row = page.locator(".trend-table tr", { has: page.locator("th", { hasText: /^120$/ }) });
  await expect.poll(() => row.locator("td").allInnerTexts()).toHaveLength(3);
  const [own = NaN, theirs = NaN, octaves = NaN] = (await row.locator("td").allInnerTexts()).map(Number);
  expect(octaves).toBeCloseTo(Math.abs(Math.log2(own / theirs)), 2);
  await page.getByLabel(trendsEn.table).uncheck();

  // No text is cut at any size.
  const before = page.viewportSize();
  for (const size of SIZES) {
    await page.setViewportSize(size);
    expect(await cutTexts(page)).toEqual([]);
  }
  if (before) await page.setViewportSize(before);

  // No dump is there: the page holds the configuration that records that step.
  const command = page.locator(".trend-cell pre");
  await expect.poll(() => command.innerText()).toContain('"step"');
  const config = JSON.parse(await command.innerText()) as { step: number[]; statistics: { list: string[] } };
  expect(config.step).toEqual([119, 120]);
  expect(config.statistics.list).toEqual([".layers.2."]);
  writeFileSync(join(work, "config.json"), JSON.stringify(config));

  // The second run of both records it; the comparison then stands at that cell.
  await Promise.all([
    train("again", "--config", "config.json", "--dumps", "dumps/sound"),
    train("once-more", "--fault", "--config", "config.json", "--dumps", "dumps/spiked"),
  ]);
  await python(...["-m", "msprobe", "graph_visualize", "-tp", "dumps/spiked", "-gp", "dumps/sound"], "-o", join(logs, "graph"));
  await page.reload();
  const comparison = page.getByRole("button", { name: trendsEn.comparison });
  await comparison.waitFor({ timeout: 30_000 });
  await comparison.click();
  await graphsShown(page);
  await expect.poll(() => page.locator(".answer, .first-answer, main").first().innerText()).toContain("layers.2");
  await expect.poll(() => selectedName(page)).toBe("Tensor.__mul__.16.forward");

  // Back leads to the cell that one came from; the tab to the comparison again, which the address says.
  const shown = (): string => [...new URL(page.url()).searchParams.keys()].find((key) => key === "db" || key === "trend") ?? "";
  await expect.poll(shown).toBe("db");
  await page.goBack();
  await expect.poll(() => page.locator(".trend-status").innerText()).toMatch(/^Step 120 of layers\.2\.down: /);
  expect(shown()).toBe("trend");
  await page.getByRole("button", { name: trendsEn.diff, exact: true }).click();
  await expect.poll(shown).toBe("db");
  expect(complaints).toEqual([]);
  await page.context().close();
}, 240_000);

test("what comes late does not move what one is about to press", async () => {
  const page = await openBlank();
  const late = (url: RegExp) =>
    page.route(url, async (route) => {
      await new Promise((next) => setTimeout(next, 1500));
      await route.continue();
    });
  await Promise.all([late(/trendplot/), late(/\/scalars/)]);
  const { runs } = (await (await fetch(`${address}api/trends`)).json()) as { runs: { id: string; path: string }[] };
  await page.goto(`${address}?trend=${runs.find(({ path }) => path === "spiked")?.id ?? ""}`);
  const alert = page.getByRole("region", { name: trendsEn.alerts }).getByRole("button").first();
  const before = await alert.boundingBox();
  await page.locator(".trend-scalars canvas").first().waitFor();
  expect((await alert.boundingBox())?.y).toBe(before?.y);
  await page.context().close();
});
