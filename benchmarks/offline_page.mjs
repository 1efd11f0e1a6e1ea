/* How long a page that carries its result takes to open from the disk: until it says where it begins
 * and draws its first rows.
 *
 * node benchmarks/offline_page.mjs PAGE.html… */
import { readFileSync, statSync } from "node:fs";
import { resolve } from "node:path";
import process from "node:process";
import { pathToFileURL } from "node:url";

import { chromium } from "playwright-core";

import { ROOT, newPage } from "./ui_browser.mjs";

const ROUNDS = 3;

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu"],
});
const program = ["page.js", "page.css"].map((name) => readFileSync(resolve(ROOT, "tb_graph_ascend/static", name)).length);
console.log(`what a page adds to its result: ${((program[0] + program[1]) / 1e6).toFixed(2)} MB`);
for (const file of process.argv.slice(2)) {
  const seconds = [];
  for (let round = 0; round < ROUNDS; round += 1) seconds.push(await opened(file));
  const megabytes = (statSync(file).size / 1e6).toFixed(1);
  console.log(`${file}: ${megabytes} MB, open in ${seconds.map((one) => one.toFixed(2)).join(", ")} s`);
}
await browser.close();

async function opened(file) {
  const page = await newPage(browser);
  const start = Date.now();
  await page.goto(pathToFileURL(resolve(file)).href);
  await page.locator(".answer").waitFor({ timeout: 120_000 });
  await page.evaluate(() => window.bench.firstRows);
  const seconds = (Date.now() - start) / 1000;
  await page.context().close();
  return seconds;
}
