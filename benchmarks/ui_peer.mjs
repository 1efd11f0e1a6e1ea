/* The interface beside the peer's plugin, on the same dumps, in turns: ours, theirs, ours, …
 *
 * The peer is driven as a person would: its page is opened, a module is double-clicked, a word is typed
 * into its search, another step is chosen. Its page is opened without TensorBoard's own around it. */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

import { answering, bundleKilobytes, freePort, heapOf, median, newPage, percentile, toFirstRow } from "./ui_browser.mjs";

const REPEATS = 3;
const LIMIT_MS = 120_000;
const WORD = "layers.19";
const STATIC = /\.(?:js|css|html)(?:\?|$)/;

/** Measure what both can do and print a table; what fails or takes too long is an entry of it. */
export async function measureBeside(browser, place, peer, folder) {
  if (!existsSync(folder)) throw new Error(`${folder} is not there: \`make bench-ui-data\` with PEER writes it`);
  console.log(`\nBeside the peer's plugin, in turns, medians of ${REPEATS}; limit ${LIMIT_MS / 1000} s\n`);
  console.log("| what | ours | peer | peer / ours |\n|---|---|---|---|");
  const loads = { ours: newLoad(), theirs: newLoad() };
  for (const [name, what] of [
    ["wide", "20,000 children"],
    ["deep", "100,000 nodes"],
  ]) {
    const server = await servePeer(peer, join(folder, name));
    try {
      const sides = {
        ours: { ...OURS, browser, url: await place(name), load: loads.ours },
        theirs: { ...THEIRS, browser, url: `${server.base}data/plugin/graph_ascend/index.html`, load: loads.theirs },
      };
      await rowOf(`page opened → first graph: ${what}`, "ms", sides, (side) => withPage(side, () => 0, "opened"));
      if (name === "wide") {
        await rowOf("open the module of 20,000 children", "ms", sides, (side) => withPage(side, side.expand));
        await rowOf("switch the step", "ms", sides, (side) => withPage(side, side.switchStep));
      } else await rowOf(`search for ${WORD}`, "ms", sides, (side) => withPage(side, side.search));
    } finally {
      server.stop();
    }
  }
  printLoads(loads);
}

const OURS = {
  firstGraph: (page) => page.evaluate(() => window.bench.firstRows),
  async expand(page) {
    await toFirstRow(page);
    return page.evaluate(() => window.bench.until("__mul__", "Enter"));
  },
  async switchStep(page) {
    await page.waitForLoadState("networkidle");
    return page.evaluate(() => window.bench.untilNewCanvas("Next step"));
  },
  async search(page) {
    // Longer than the page rests before it lets the server read the names.
    await page.waitForTimeout(4000);
    return page.evaluate((word) => window.bench.search(word), WORD);
  },
};

const THEIRS = {
  firstGraph: (page) => seen(page, () => document.querySelector("svg text") !== null),
  async expand(page) {
    await page.waitForTimeout(1000);
    const box = await page.locator("svg text", { hasText: "Wide.forward" }).first().boundingBox();
    const start = await now(page);
    await page.mouse.dblclick(box.x + box.width / 2, box.y + box.height / 2);
    const calls = () => [...document.querySelectorAll("svg text")].some((one) => one.textContent.startsWith("__mul__"));
    return (await seen(page, calls)) - start;
  },
  async switchStep(page) {
    await page.waitForTimeout(1000);
    await page.mouse.click(22, 38);
    await page.locator(".ant-select-selector").nth(2).click();
    const other = page.locator(".ant-select-item-option").filter({ hasText: /^1$/ }).last();
    await other.waitFor();
    await page.evaluate(() => document.querySelectorAll("svg text").forEach((one) => (one.dataset.old = "1")));
    const start = await now(page);
    await other.click();
    return (await seen(page, () => document.querySelector("svg text:not([data-old])") !== null)) - start;
  },
  async search(page) {
    await page.waitForTimeout(1000);
    await page.mouse.click(22, 188);
    await seen(page, () => document.querySelector("input[type=radio][value='N___']") !== null);
    await seen(page, () => !document.body.innerText.includes("Loading"));
    await page.getByPlaceholder("Search by Name").last().fill(WORD);
    const start = await now(page);
    await page.keyboard.press("Enter");
    return (await seen(page, () => /Node List\([1-9]/.test(document.body.innerText))) - start;
  },
};

/** One row: both sides in turns; a side that failed once is not tried again. */
async function rowOf(what, unit, sides, act) {
  const cells = { ours: [], theirs: [] };
  const failed = {};
  for (let run = 0; run < REPEATS; run += 1) {
    for (const name of ["ours", "theirs"]) {
      if (name in failed) continue;
      try {
        cells[name].push(await act(sides[name]));
      } catch (error) {
        failed[name] = `${error.message.split("\n")[0].slice(0, 80)}`;
      }
    }
  }
  const [ours, theirs] = ["ours", "theirs"].map((name) => failed[name] ?? median(cells[name]));
  printRow(what, ours, theirs, unit);
}

async function withPage(side, act, wanted) {
  const page = await newPage(side.browser);
  page.setDefaultTimeout(LIMIT_MS);
  const files = [];
  page.on("requestfinished", (request) => files.push(request));
  try {
    await page.goto(side.url);
    const opened = await side.firstGraph(page);
    const time = wanted === "opened" ? opened : await act(page);
    await takeLoad(page, files, side.load);
    return time;
  } finally {
    await page.context().close();
  }
}

function newLoad() {
  return { times: [], sizes: [], heaps: [], bundle: 0 };
}

/** What the page asked of its server, and what it holds. */
async function takeLoad(page, files, load) {
  let bundle = 0;
  for (const request of files) {
    const { startTime, requestStart, responseEnd } = request.timing();
    if (STATIC.test(request.url())) {
      const body = await (await request.response()).body().catch(() => Buffer.alloc(0));
      bundle += gzipSync(body).length / 1024;
    } else if (startTime > 0 && responseEnd > 0) {
      load.times.push(responseEnd - Math.max(0, requestStart));
      load.sizes.push((await request.sizes()).responseBodySize / 1024);
    }
  }
  load.bundle = Math.max(load.bundle, bundle);
  load.heaps.push(await heapOf(page));
}

function printLoads({ ours, theirs }) {
  const of = (take) => [ours, theirs].map((load) => (load.heaps.length > 0 ? take(load) : "–"));
  printRow("server answers, p95", ...of(({ times }) => percentile(times, 0.95)), "ms");
  printRow("largest answer as sent", ...of(({ sizes }) => Math.max(...sizes)), "KB");
  printRow("heap, largest", ...of(({ heaps }) => Math.max(...heaps)), "MB");
  printRow("page, packed", bundleKilobytes(), ...of(({ bundle }) => bundle).slice(1), "KB");
}

function printRow(what, ours, theirs, unit) {
  const cell = (value) => (typeof value === "number" ? `${value.toFixed(value < 100 ? 1 : 0)} ${unit}` : value);
  const both = typeof ours === "number" && typeof theirs === "number";
  console.log(`| ${what} | ${cell(ours)} | ${cell(theirs)} | ${both ? (theirs / ours).toFixed(1) : ""} |`);
}

async function servePeer(environment, folder) {
  const command = join(environment, "bin/tensorboard");
  if (!existsSync(command)) throw new Error(`${command} is not there; install TensorBoard beside the peer`);
  const port = await freePort();
  const base = `http://localhost:${port}/`;
  const server = spawn(command, ["--logdir", folder, "--port", String(port)], { stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  server.stderr.on("data", (text) => (said = `${said}${text}`.slice(-400)));
  if (await answering(`${base}data/plugins_listing`, server)) return { base, stop: () => server.kill("SIGKILL") };
  throw new Error(`the peer's TensorBoard did not answer: ${said.trim().split("\n").at(-1)}`);
}

/** When something is first seen on the page, by its own clock. */
async function seen(page, condition) {
  await page.waitForFunction(condition, undefined, { polling: "raf", timeout: LIMIT_MS });
  return now(page);
}

function now(page) {
  return page.evaluate(() => performance.now());
}
