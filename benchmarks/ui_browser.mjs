/* What the measurements of the interface share: servers, pages that tell when they draw, statistics. */
import { spawn } from "node:child_process";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { createServer } from "node:net";
import { join, resolve } from "node:path";
import process from "node:process";
import { gzipSync } from "node:zlib";

export const ROOT = resolve(import.meta.dirname, "..");

/** A page whose canvases tell when they write text, so that the product needs no probes. */
export async function newPage(browser) {
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
      setTimeout(() => reject(new Error("nothing was drawn within 120 s")), 120_000);
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
    /** From a key or a double click on a box until another picture of boxes is painted. */
    async untilBoxes({ key, box }) {
      const drawing = () => document.querySelector(".boxes-frame svg");
      const count = () => document.querySelectorAll(".boxes-frame .box").length;
      const before = count();
      const start = performance.now();
      if (key !== undefined) window.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
      else document.querySelectorAll(".boxes-frame .box-chevron")[box].dispatchEvent(new MouseEvent("click", { bubbles: true }));
      do await frame();
      while (!drawing() || count() === 0 || count() === before);
      // What is in the page now is painted with the next frame.
      await frame();
      return { ms: performance.now() - start, boxes: count() };
    },
    async panFrames(count) {
      const target = document.querySelector(".boxes-frame");
      const times = [];
      let last = await frame();
      for (let index = 0; index < count; index += 1) {
        const deltaY = index % 100 < 50 ? 40 : -40;
        target.dispatchEvent(new WheelEvent("wheel", { deltaY, deltaX: deltaY / 2, bubbles: true, cancelable: true }));
        const now = await frame();
        times.push(now - last);
        last = now;
      }
      return times;
    },
    async search(query) {
      const input = document.querySelector("#search");
      input.focus();
      const start = performance.now();
      const setter = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").set;
      setter.call(input, query);
      input.dispatchEvent(new Event("input", { bubbles: true }));
      const count = () => document.querySelector(".search-count")?.textContent;
      // The rows come into the page with their number, in place of the dots.
      do await frame();
      while (count() === "…");
      if (count() === "!") throw new Error(`the search for ${query} was refused`);
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

/** Our server over a folder of result files. */
export async function serve(folder) {
  const port = await freePort();
  const python = join(ROOT, ".venv/bin/python");
  const command = process.env.PYTHON ?? (existsSync(python) ? python : "python3");
  const args = ["-m", "msprobe", "serve", folder, "--port", String(port)];
  const server = spawn(command, args, { cwd: ROOT, stdio: "ignore" });
  const base = `http://localhost:${port}/`;
  if (await answering(`${base}api/databases`, server)) return { base, stop: () => server.kill("SIGKILL") };
  throw new Error(`msprobe serve ${folder} did not answer at ${base}`);
}

/** Whether a server answers within a minute; one that does not is ended. */
export async function answering(url, server) {
  for (let tries = 0; tries < 300 && server.exitCode === null; tries += 1) {
    const answer = await fetch(url).catch(() => null);
    if (answer?.ok) return true;
    await new Promise((next) => setTimeout(next, 200));
  }
  server.kill("SIGKILL");
  return false;
}

/** Close what is open and select the first row below the root. */
export async function toFirstRow(page) {
  await page.waitForLoadState("networkidle");
  await page.keyboard.press("c");
  await page.waitForTimeout(500);
  await page.locator(".diff-scroll").focus();
  await page.keyboard.press("Home");
  await page.keyboard.press("ArrowDown");
  await page.waitForFunction(() => document.querySelector(".selected-name"));
  // What is told of the selection is asked for and drawn by then.
  await page.waitForTimeout(500);
}

/** Where a result file is opened. */
export async function addressOf(base, path) {
  const { databases } = await (await fetch(`${base}api/databases`)).json();
  const { id } = databases.find((one) => one.path.startsWith(`${path}/`));
  return `${base}index.html?db=${encodeURIComponent(id)}`;
}

export function freePort() {
  return new Promise((done) => {
    const server = createServer();
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => done(port));
    });
  });
}

/** What the page loads, packed, in KB. */
export function bundleKilobytes() {
  const folder = join(ROOT, "tb_graph_ascend/static");
  const files = readdirSync(folder).filter((name) => /\.(?:js|css|html)$/.test(name));
  const bytes = files.map((name) => gzipSync(readFileSync(join(folder, name))).length);
  return bytes.reduce((sum, one) => sum + one, 0) / 1024;
}

/** What a page holds after its garbage is collected, in MB. */
export async function heapOf(page) {
  const session = await page.context().newCDPSession(page);
  await session.send("HeapProfiler.collectGarbage");
  const { usedSize } = await session.send("Runtime.getHeapUsage");
  return usedSize / 2 ** 20;
}

/** What something did on a page, and the processor time of the page's main thread for it, in ms. */
export async function withProcessorTime(page, act) {
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  const spent = async () => {
    const { metrics } = await session.send("Performance.getMetrics");
    return 1000 * metrics.find(({ name }) => name === "TaskDuration").value;
  };
  const before = await spent();
  const done = await act();
  const processor = (await spent()) - before;
  await session.detach();
  return { ...done, processor };
}

export function median(values) {
  return percentile(values, 0.5);
}

export function percentile(values, share) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
