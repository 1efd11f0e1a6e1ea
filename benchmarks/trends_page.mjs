/* Measures the page of trends in headless Chromium on a store of 2,000 series and 10,000 steps.
 *
 * `node benchmarks/trends_page.mjs FOLDER`: below FOLDER lies `trends`, which
 * `python -m benchmarks.trend_store 10000 2000 FOLDER --keep` writes. All modules are open. A frame is
 * the time from one to the next while the rows are scrolled or the cell is moved by keys. */
import { cpus } from "node:os";
import process from "node:process";

import { chromium } from "playwright-core";

import { median, percentile, serve } from "./ui_browser.mjs";

const ARGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"];
const REPEATS = 5;
const FRAMES = 150;
const MODULES = 250;
const PICTURES = { "heat map": ".trend-cells canvas[data-frame]", "small multiples": ".trend-tile path.own" };

async function main([folder]) {
  if (!folder) throw new Error("usage: node benchmarks/trends_page.mjs FOLDER");
  const { base, stop } = await serve(folder);
  const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
  const browser = await chromium.launch({ executablePath, args: ARGS });
  const rows = [];
  try {
    const { runs } = await (await fetch(`${base}api/trends`)).json();
    const open = ["layers", ...Array.from({ length: MODULES }, (_, i) => `layers.${i}`)].join(",");
    for (const [what, picture] of Object.entries(PICTURES)) {
      const query = new URLSearchParams({ trend: runs[0].id, kind: "grad", open });
      if (what !== "heat map") query.set("view", "multiples");
      rows.push(...(await measure(browser, `${base}index.html?${query}`, what, picture)));
    }
  } finally {
    await browser.close();
    stop();
  }
  print(rows, browser.version());
  return rows.every(({ value, limit }) => limit === null || value <= limit) ? 0 : 1;
}

async function measure(browser, url, what, picture) {
  const shown = [];
  let page;
  for (let run = 0; run < REPEATS; run += 1) {
    await page?.context().close();
    const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, reducedMotion: "reduce" });
    page = await context.newPage();
    await page.addInitScript(watchFor, picture);
    await page.goto(url);
    shown.push(await page.evaluate(() => window.firstPicture));
  }
  await page.waitForLoadState("networkidle");
  const scroller = what === "heat map" ? ".trend-heat" : ".trend-multiples";
  const scrolled = await page.evaluate(scrollFrames, [scroller, FRAMES]);
  const keyed = [];
  const focus = what === "heat map" ? ".trend-cells" : '.trend-tile[tabindex="0"]';
  await page.locator(scroller).evaluate((place) => (place.scrollTop = 0));
  await page.locator(focus).first().focus();
  for (let key = 0; key < 30; key += 1) keyed.push(await page.evaluate(keyFrame, key % 3 === 0 ? "ArrowDown" : "ArrowRight"));
  const painted = await page.evaluate(() => Number(document.querySelector(".trend-cells canvas")?.dataset.frame ?? NaN));
  await page.context().close();
  return [
    { what: `${what}: opened → first picture, server's first look`, value: shown[0], limit: null },
    { what: `${what}: opened → first picture, median of ${REPEATS}`, value: median(shown), limit: 1000 },
    { what: `${what}: a frame while scrolling, 95 %`, value: percentile(scrolled, 0.95), limit: 50 },
    { what: `${what}: a key to its frame, 95 %`, value: percentile(keyed, 0.95), limit: 50 },
    ...(Number.isNaN(painted) ? [] : [{ what: `${what}: painting its cells`, value: painted, limit: null }]),
  ];
}

/** Before the page begins: a promise of the moment in which a picture has been painted. */
function watchFor(picture) {
  window.firstPicture = new Promise((done) => {
    const look = () => {
      if (document.querySelector(picture)) requestAnimationFrame(() => done(performance.now()));
      else requestAnimationFrame(look);
    };
    look();
  });
}

async function scrollFrames([scroller, count]) {
  const place = document.querySelector(scroller);
  const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
  const times = [];
  let last = await frame();
  for (let index = 0; index < count; index += 1) {
    place.scrollTop += index % 100 < 75 ? 60 : -60;
    const now = await frame();
    times.push(now - last);
    last = now;
  }
  return times;
}

async function keyFrame(key) {
  const began = performance.now();
  document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  // The change is in the page with the first frame and painted when the second begins.
  for (let frames = 0; frames < 2; frames += 1) await new Promise((resolve) => requestAnimationFrame(resolve));
  return performance.now() - began;
}

function print(rows, version) {
  console.log(`${cpus().length} × ${cpus()[0]?.model}, Chromium ${version}\n\n| | measured | goal |\n|---|---|---|`);
  for (const { what, value, limit } of rows) {
    console.log(`| ${what} | ${value.toFixed(1)} ms | ${limit === null ? "–" : `${limit} ms`} |`);
  }
}

process.exitCode = await main(process.argv.slice(2));
