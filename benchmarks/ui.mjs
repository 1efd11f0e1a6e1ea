/* Measures the interface in headless Chromium against the speed table of the interface's contract.
 *
 * `node benchmarks/ui.mjs DEEP.vis.db WIDE.vis.db [MILLION.vis.db]`: a comparison of 100,000 nodes a
 * side in 2,000 layers, one with a module of 20,000 children over two steps, and one of a million
 * nodes a side, which may take twice as long (benchmarks/generate.py writes dumps for all). */
import { spawn } from "node:child_process";
import { copyFileSync, existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { cpus, tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import process from "node:process";
import { gzipSync } from "node:zlib";

import { chromium } from "playwright-core";

const ROOT = resolve(import.meta.dirname, "..");
const ARGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"];
const REPEATS = 5;
const FRAMES = 150;

const rows = [];

async function main([deep, wide, million]) {
  if (!deep || !wide) throw new Error("usage: node benchmarks/ui.mjs DEEP.vis.db WIDE.vis.db [MILLION.vis.db]");
  const folder = mkdtempSync(join(tmpdir(), "bench-ui-"));
  for (const path of [deep, wide, million].filter(Boolean)) copyFileSync(path, join(folder, basename(path)));
  const { base, stop } = await serve(folder);
  const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
  const browser = await chromium.launch({ executablePath, args: ARGS });
  try {
    const place = (path) => addressOf(base, basename(path));
    await measureOpening(browser, await place(deep), "100,000 nodes", 1);
    await measureWide(browser, await place(wide));
    await measureDeep(browser, await place(deep), "100,000 nodes", 1);
    if (million) {
      await measureOpening(browser, await place(million), "1,000,000 nodes", 2);
      await measureDeep(browser, await place(million), "1,000,000 nodes", 2);
    }
    report("bundle, gzip", bundleKilobytes(), 350, "KB");
    print(browser.version());
  } finally {
    await browser.close();
    stop();
    rmSync(folder, { recursive: true });
  }
  return rows.every(({ value, limit }) => limit === null || value <= limit) ? 0 : 1;
}

async function measureOpening(browser, url, what, factor) {
  const times = [];
  for (let run = 0; run < REPEATS; run += 1) {
    const page = await newPage(browser);
    await page.goto(url);
    times.push(await page.evaluate(() => window.bench.firstRows));
    await page.context().close();
  }
  report(`page opened → first rows: ${what}, server's first look`, times[0], null, "ms");
  report(`page opened → first rows: ${what}`, median(times), 700 * factor, "ms");
}

async function measureWide(browser, url) {
  const page = await newPage(browser);
  const expansions = [];
  for (let run = 0; run < REPEATS; run += 1) {
    await page.goto(url);
    await page.waitForLoadState("networkidle");
    await page.keyboard.press("c");
    await page.waitForTimeout(500);
    await page.locator(".diff-scroll").focus();
    await page.keyboard.press("Home");
    await page.keyboard.press("ArrowDown");
    await page.waitForFunction(() => document.querySelector(".selected-name"));
    await page.waitForTimeout(500);
    expansions.push(await page.evaluate(() => window.bench.until("__mul__", "Enter")));
  }
  report("open a module of 20,000 children", median(expansions), 100, "ms");
  await measureFrames(page, "20,000 children", "scroll");
  await measureFrames(page, "20,000 children", "zoom");
  await page.keyboard.press("0");
  const switches = [];
  for (let run = 0; run < 2 * REPEATS; run += 1) {
    const name = run % 2 === 0 ? "Next step" : "Previous step";
    switches.push(await page.evaluate((label) => window.bench.untilNewCanvas(label), name));
    await page.waitForTimeout(800);
  }
  report("switch the step", median(switches), 200, "ms");
  await page.context().close();
}

async function measureDeep(browser, url, what, factor) {
  const page = await newPage(browser);
  await page.goto(url);
  await page.evaluate(() => window.bench.firstRows);
  await page.keyboard.press("f");
  await page.waitForTimeout(2000);
  await page.locator(".diff-scroll").focus();
  await page.keyboard.press("Home");
  const opened = await page.evaluate(() => window.bench.until("embedding", "e"));
  report(`open all rows: ${what}`, opened, null, "ms");
  await page.waitForTimeout(1000);
  await measureFrames(page, `${what}, all open`, "scroll");
  const strokes = [];
  for (const text of ["l", "la", "lay", "layers.1", "layers.19.", "mlp", "mlp.fc", "zzz"]) {
    strokes.push(await page.evaluate((query) => window.bench.search(query), text));
  }
  report(`search, per keystroke (worst): ${what}`, Math.max(...strokes), 100 * factor, "ms");
  const all = await page.evaluate(() => window.bench.answers());
  // A search for nothing makes the server read all names once, while nobody waits for it.
  const reading = all.filter(({ name }) => name.includes("/search?") && !name.includes("q="));
  const answers = all.filter((answer) => !reading.includes(answer));
  report(`all names read in advance, once: ${what}`, Math.max(...reading.map(({ ms }) => ms)), null, "ms");
  report(`server answers p95: ${what}`, percentile(answers.map(({ ms }) => ms), 0.95), 25 * factor, "ms");
  const sizes = answers.map(({ bytes }) => bytes / 1024);
  report(`largest answer, gzip: ${what}`, Math.max(...sizes), 100, "KB");
  const session = await page.context().newCDPSession(page);
  await session.send("HeapProfiler.collectGarbage");
  const { metrics } = await session.send("Performance.getMetrics").catch(() => ({ metrics: [] }));
  const heap = metrics.find(({ name }) => name === "JSHeapUsedSize")?.value ?? (await heapOf(session));
  report(`heap: ${what}`, heap / 2 ** 20, 60 * factor, "MB");
  await page.context().close();
}

async function heapOf(session) {
  const { usedSize } = await session.send("Runtime.getHeapUsage");
  return usedSize;
}

async function measureFrames(page, what, kind) {
  const frames = await page.evaluate(
    ([count, zooming]) => window.bench.frames(count, zooming),
    [FRAMES, kind === "zoom"],
  );
  report(`${kind}, p95 frame: ${what}`, percentile(frames, 0.95), 17, "ms");
}

/** A page whose canvases tell when they write text, so that the product needs no probes. */
async function newPage(browser) {
  const context = await browser.newContext({
    viewport: { width: 1440, height: 900 },
    reducedMotion: "reduce",
  });
  const page = await context.newPage();
  await page.addInitScript(installProbe);
  return page;
}

function installProbe() {
  const waiting = [];
  const { fillText } = CanvasRenderingContext2D.prototype;
  const tell = (text, canvas) => {
    for (const one of [...waiting]) {
      if (one.accepts(text, canvas)) {
        waiting.splice(waiting.indexOf(one), 1);
        one.resolve(performance.now());
      }
    }
  };
  CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {
    fillText.call(this, text, ...rest);
    if (waiting.length > 0) tell(text, this.canvas);
  };
  const drawn = (accepts) =>
    new Promise((resolve, reject) => {
      waiting.push({ accepts, resolve });
      setTimeout(() => reject(new Error("nothing was drawn within 10 s")), 10_000);
    });
  const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
  window.bench = {
    firstRows: drawn((_, canvas) => canvas.matches(".diff-canvas") && canvas.isConnected),
    async until(needle, key) {
      const start = performance.now();
      const done = drawn((text) => text.startsWith(needle));
      window.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
      return (await done) - start;
    },
    async untilNewCanvas(label) {
      const before = document.querySelector(".diff-canvas");
      const start = performance.now();
      const done = drawn((_, canvas) => canvas.matches(".diff-canvas") && canvas !== before && canvas.isConnected);
      document.querySelector(`button[aria-label="${label}"]`).click();
      return (await done) - start;
    },
    async frames(count, zooming) {
      const canvas = document.querySelector(".diff-canvas");
      const scroller = document.querySelector(".diff-scroll");
      const times = [];
      let last = await frame();
      for (let index = 0; index < count; index += 1) {
        const down = index % 100 < 50;
        const deltaY = (down ? 1 : -1) * (zooming ? 12 : 60);
        if (zooming) {
          const at = { clientX: 600, clientY: 300, bubbles: true, cancelable: true };
          canvas.dispatchEvent(new WheelEvent("wheel", { deltaY, ctrlKey: true, ...at }));
        } else scroller.scrollTop += deltaY;
        const now = await frame();
        times.push(now - last);
        last = now;
      }
      return times;
    },
    async search(query) {
      const input = document.querySelector("#search");
      const entries = performance.getEntriesByType("resource").length;
      input.focus();
      const start = performance.now();
      const setter = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").set;
      setter.call(input, query);
      input.dispatchEvent(new Event("input", { bubbles: true }));
      const answered = () =>
        performance
          .getEntriesByType("resource")
          .slice(entries)
          .some(({ name, responseStatus }) => responseStatus === 200 && new URL(name).searchParams.get("q") === query);
      while (!answered()) await frame();
      await frame();
      return performance.now() - start;
    },
    answers() {
      return performance
        .getEntriesByType("resource")
        // What was given up for a later letter has no times.
        .filter(({ name, responseStatus }) => name.includes("/api/") && responseStatus > 0)
        .map((entry) => ({
          name: entry.name,
          ms: entry.responseEnd - entry.requestStart,
          bytes: entry.encodedBodySize,
        }));
    },
  };
}

async function serve(folder) {
  const port = await freePort();
  const python = join(ROOT, ".venv/bin/python");
  const command = process.env.PYTHON ?? (existsSync(python) ? python : "python3");
  const args = ["-m", "msprobe", "serve", folder, "--port", String(port)];
  const server = spawn(command, args, { cwd: ROOT, stdio: "ignore" });
  const base = `http://localhost:${port}/`;
  for (let tries = 0; tries < 300; tries += 1) {
    const answer = await fetch(`${base}api/databases`).catch(() => null);
    if (answer?.ok) return { base, stop: () => server.kill("SIGKILL") };
    await new Promise((next) => setTimeout(next, 200));
  }
  server.kill("SIGKILL");
  throw new Error(`msprobe serve ${folder} did not answer at ${base}`);
}

async function addressOf(base, path) {
  const { databases } = await (await fetch(`${base}api/databases`)).json();
  const { id } = databases.find((one) => one.path === path);
  return `${base}index.html?db=${encodeURIComponent(id)}`;
}

function freePort() {
  return new Promise((done) => {
    const server = createServer();
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => done(port));
    });
  });
}

function bundleKilobytes() {
  const folder = join(ROOT, "tb_graph_ascend/static");
  const files = readdirSync(folder).filter((name) => /\.(?:js|css|html)$/.test(name));
  const bytes = files.map((name) => gzipSync(readFileSync(join(folder, name))).length);
  return bytes.reduce((sum, one) => sum + one, 0) / 1024;
}

function report(what, value, limit, unit) {
  rows.push({ what, value, limit, unit });
}

function print(version) {
  console.log(`Chromium ${version}, ${cpus().length} cores (${cpus()[0]?.model ?? "unknown"})\n`);
  console.log("| what | measured | must be | |\n|---|---|---|---|");
  for (const { what, value, limit, unit } of rows) {
    const wanted = limit === null ? "–" : `≤ ${limit} ${unit}`;
    const verdict = limit === null ? "" : value <= limit ? "ok" : "over";
    console.log(`| ${what} | ${value.toFixed(value < 100 ? 1 : 0)} ${unit} | ${wanted} | ${verdict} |`);
  }
}

function median(values) {
  return percentile(values, 0.5);
}

function percentile(values, share) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

process.exitCode = await main(process.argv.slice(2));
