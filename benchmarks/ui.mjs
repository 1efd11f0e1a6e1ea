/* Measures the interface in headless Chromium against the speed table of the interface's contract.
 *
 * `node benchmarks/ui.mjs FOLDER [PEER]` (with GRAPH=1 the graph of a module alone): below FOLDER lie `deep`, a comparison of 100,000 nodes a side
 * in 2,000 layers, `wide`, one with a module of 20,000 children over two steps, and, where it is there,
 * `million`, one of a million nodes a side, which may take twice as long. PEER is an environment with
 * TensorBoard and the peer's plugin; it is measured between our runs, on what its own builder made of
 * the same dumps, in FOLDER/peer. */
import { existsSync } from "node:fs";
import { cpus } from "node:os";
import { join } from "node:path";
import process from "node:process";

import { chromium } from "playwright-core";

import { addressOf, bundleKilobytes, heapOf, median, newPage, percentile, serve, toFirstRow, withProcessorTime } from "./ui_browser.mjs";
import { measureBeside } from "./ui_peer.mjs";

const ARGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"];
const REPEATS = 5;
const FRAMES = 150;

const rows = [];

async function main([folder, peer]) {
  if (!folder) throw new Error("usage: node benchmarks/ui.mjs FOLDER [PEER]");
  const { base, stop } = await serve(folder);
  const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
  const browser = await chromium.launch({ executablePath, args: ARGS });
  try {
    const place = (name) => addressOf(base, name);
    if (process.env.GRAPH === "1") {
      await measureGraph(browser, await place("wide"), await place("deep"));
      print(browser.version());
      return verdict();
    }
    await measureOpening(browser, await place("deep"), "100,000 nodes", 1);
    await measureWide(browser, await place("wide"));
    await measureGraph(browser, await place("wide"), await place("deep"));
    await measureDeep(browser, await place("deep"), "100,000 nodes", 1);
    if (existsSync(join(folder, "million"))) {
      await measureOpening(browser, await place("million"), "1,000,000 nodes", 2);
      await measureDeep(browser, await place("million"), "1,000,000 nodes", 2);
    }
    report("bundle, gzip", bundleKilobytes(), 350, "KB");
    print(browser.version());
    if (peer) await measureBeside(browser, place, peer, join(folder, "peer")).catch(({ message }) => console.log(`\n${message}`));
  } finally {
    await browser.close();
    stop();
  }
  return verdict();
}

function verdict() {
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
    await toFirstRow(page);
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

/** A module as boxes and edges: shown, panned over, and a box opened in place. */
async function measureGraph(browser, wide, deep) {
  const page = await newPage(browser);
  await page.goto(wide);
  await toFirstRow(page);
  const shown = [];
  for (let run = 0; run < REPEATS; run += 1) {
    shown.push(await withProcessorTime(page, () => page.evaluate(() => window.bench.untilBoxes({ key: "v" }))));
    if (run + 1 < REPEATS) await page.keyboard.press("v");
    await page.waitForTimeout(300);
  }
  report(`a module as a graph of ${shown[0].boxes} boxes`, median(shown.map(({ ms }) => ms)), 150, "ms");
  report(`the same, processor time of the page's main thread`, median(shown.map(({ processor }) => processor)), null, "ms");
  report(`pan, p95 frame: ${shown[0].boxes} boxes`, percentile(await page.evaluate((n) => window.bench.panFrames(n), FRAMES), 0.95), 17, "ms");
  await page.goto(deep);
  await toFirstRow(page);
  await page.keyboard.press("Home");
  await page.evaluate(() => window.bench.untilBoxes({ key: "v" }));
  const opened = [];
  for (let run = 0; run < 2 * REPEATS; run += 1) {
    const taken = await withProcessorTime(page, () => page.evaluate(() => window.bench.untilBoxes({ box: 0 })));
    if (run % 2 === 0) opened.push(taken);
    await page.waitForTimeout(300);
  }
  report(`open a box in place, ${opened[0].boxes} boxes then`, median(opened.map(({ ms }) => ms)), 100, "ms");
  report(`the same, processor time of the page's main thread`, median(opened.map(({ processor }) => processor)), null, "ms");
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
  await measureFrames(page, `${what}, all open`, "scroll", factor);
  await measureFrames(page, `${what}, all open`, "zoom", factor);
  await page.keyboard.press("0");
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
  report(`heap: ${what}`, await heapOf(page), 60 * factor, "MB");
  await page.context().close();
}

async function measureFrames(page, what, kind, factor = 1) {
  const frames = await page.evaluate(
    ([count, zooming]) => window.bench.frames(count, zooming),
    [FRAMES, kind === "zoom"],
  );
  report(`${kind}, p95 frame: ${what}`, percentile(frames, 0.95), 17 * factor, "ms");
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

process.exitCode = await main(process.argv.slice(2));
