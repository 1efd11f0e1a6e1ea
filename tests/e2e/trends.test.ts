/* From a leap of the loss to the named call, with no dump at hand; keys, table, languages, themes, size. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { serious } from "./axe";
import { graphsShown, open, selectedName, withBrowser } from "./page";
import { keep } from "./pictures";
import { ROOT } from "./setup";

const PYTHON = join(ROOT, ".venv/bin/python");
const folder = mkdtempSync(join(tmpdir(), "trends-"));
const logs = join(folder, "logs");
let server: ChildProcess;
let base: string;

withBrowser();

beforeAll(async () => {
  python(["-m", "tests.e2e.trends", logs]);
  const port = await new Promise<number>((found) => {
    const probe = createServer().listen(0, () => {
      const { port: free } = probe.address() as { port: number };
      probe.close(() => found(free));
    });
  });
  base = `http://localhost:${port}/`;
  server = spawn(PYTHON, ["-m", "msprobe", "serve", logs, "--port", String(port)], { cwd: ROOT, stdio: "ignore" });
  await expect
    .poll(async () => (await fetch(`${base}api/trends`).catch(() => null))?.status, { timeout: 60_000 })
    .toBe(200);
}, 300_000);

afterAll(() => {
  server.kill();
});

function python(args: string[]): void {
  execFileSync(PYTHON, args, { cwd: ROOT, stdio: "pipe", env: { ...process.env, OMP_NUM_THREADS: "1" } });
}

async function openRun(name: string, options = {}): Promise<{ page: Page; complaints: string[] }> {
  const { runs } = (await (await fetch(`${base}api/trends`)).json()) as { runs: { id: string; path: string }[] };
  const run = runs.find(({ path }) => path === name);
  const opened = await open(`${base}?trend=${run?.id ?? "none"}`, options);
  await opened.page.locator(".trend-cells canvas").waitFor();
  return opened;
}

describe("a training whose loss leaps", () => {
  it("leads from its alert over a configuration to the call", async () => {
    const { page, complaints } = await openRun("spiked");
    await page.locator(".trend-alerts button").first().click();
    await page.locator(".trend-cell pre").waitFor();
    await expect.poll(() => page.locator(".trend-plot canvas").count()).toBeGreaterThan(3);
    await page.waitForTimeout(500);
    keep(await page.screenshot(), join(ROOT, "docs/pictures/trends.png"));

    await page.getByLabel("Compare with").selectOption({ label: "sound" });
    const sentence = page.getByRole("button", { name: /They part at step 120: output of layers\.2\.down/ });
    await sentence.click();
    expect(page.url()).toContain("trend=");

    const config = join(folder, "config.json");
    writeFileSync(config, (await page.locator(".trend-cell pre").textContent()) ?? "");
    const dumps = join(folder, "dumps");
    for (const [name, flags] of [["sound", []], ["spiked", ["--fault"]]] as const) {
      const again = ["examples/loss_spike.py", join(folder, `again-${name}`), ...flags];
      python([...again, "--config", config, "--dumps", join(dumps, name)]);
    }
    const sides = ["-tp", join(dumps, "spiked"), "-gp", join(dumps, "sound")];
    python(["-m", "msprobe", "graph_visualize", ...sides, "-o", join(logs, "graph")]);

    await page.getByRole("button", { name: /Open the comparison of this step/ }).click({ timeout: 30_000 });
    await graphsShown(page);
    await page.keyboard.press("f");
    await expect.poll(() => selectedName(page)).toContain("Tensor.__mul__");
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  it("is walked by keys, shown as a table, in Chinese and in the dark, and by its address", async () => {
    const { page, complaints } = await openRun("spiked", { colorScheme: "dark", locale: "zh-CN" });
    await expect.poll(() => page.getByRole("button", { name: "趋势" }).count()).toBe(1);
    expect(await serious(page, "trends, dark")).toEqual([]);
    await page.locator(".trend-cells").focus();
    for (const key of ["ArrowRight", "ArrowRight", "ArrowDown", "ArrowDown", "Enter"]) {
      await page.keyboard.press(key);
    }
    await expect.poll(() => page.locator(".trend-keys li").count()).toBe(1);
    await page.getByLabel("以表格显示").check();
    await expect.poll(() => page.locator(".trend-table tbody tr").count()).toBeGreaterThan(100);
    await expect.poll(() => page.url()).toContain("as=table");
    const again = await open(page.url(), { locale: "en-US" });
    await expect.poll(() => again.page.locator(".trend-table tbody tr").count()).toBeGreaterThan(100);
    expect(await serious(again.page, "trends as a table")).toEqual([]);
    expect([...complaints, ...again.complaints]).toEqual([]);
    await page.context().close();
    await again.page.context().close();
  });
});

describe("2,000 series over 10,000 steps", () => {
  it("are drawn in pages of rows, and unfold to the one that leaps", async () => {
    const { page, complaints } = await openRun("large");
    await page.getByRole("button", { name: /^layers/ }).first().waitFor();
    if ((await page.locator(".trend-name").count()) < 3) await page.locator(".trend-name").first().click();
    await page.getByTitle("layers.38", { exact: true }).click();
    await page.getByTitle("layers.38.part17.weight").click();
    await expect.poll(() => page.locator(".trend-keys li").count()).toBe(1);
    const frame = Number(await page.locator(".trend-cells canvas").getAttribute("data-frame"));
    expect(frame).toBeGreaterThan(0);
    expect(complaints).toEqual([]);
    await page.context().close();
  });
});
