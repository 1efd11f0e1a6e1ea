/* A browser page that fails the test when the page itself complains, and what journeys do on it. */
import { readFileSync } from "node:fs";
import { type Browser, type BrowserContextOptions, type Frame, type Page, chromium } from "playwright-core";
import { afterAll, beforeAll, expect, inject } from "vitest";

import { en } from "../../tb_graph_ascend/frontend/src/i18n/en";

const EXECUTABLE = process.env.CHROMIUM ?? "/usr/bin/chromium";
const ARGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"];

const LISTING_TRIES = 10;

let browser: Browser;

/** One browser for the tests of a file. */
export function withBrowser(): void {
  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: EXECUTABLE, args: ARGS });
  });
  afterAll(() => browser.close());
}

export interface Opened {
  page: Page;
  /** What the page complained about: console errors and exceptions. */
  complaints: string[];
}

/** An empty page in its own context, as a second person would have it. */
export async function openBlank(options: BrowserContextOptions = {}): Promise<Page> {
  const context = await browser.newContext({
    viewport: { width: 1440, height: 900 },
    locale: "en-US",
    reducedMotion: "reduce",
    ...options,
  });
  return context.newPage();
}

/** A fresh page that has opened an address. */
export async function open(url: string, options: BrowserContextOptions = {}): Promise<Opened> {
  const page = await openBlank(options);
  const complaints: string[] = [];
  page.on("console", (message) => {
    if (message.type() === "error") complaints.push(`${message.text()} ${message.location().url}`.trim());
  });
  page.on("pageerror", (error) => complaints.push(String(error)));
  await page.goto(url);
  return { page, complaints };
}

/** Open a database, run a journey on it, and see that the page never complained. */
export async function on(
  name: string,
  journey: (page: Page, opened: Opened) => Promise<void>,
  options: BrowserContextOptions = {},
): Promise<void> {
  const opened = await open(await addressOf(inject("places").standalone, name), options);
  await graphsShown(opened.page);
  await journey(opened.page, opened);
  expect(opened.complaints).toEqual([]);
  await opened.page.context().close();
}

/** Choose a result file by its path below the log folder, once it is listed. */
export async function chooseFile(view: Page | Frame, path: string, timeout = 15_000): Promise<void> {
  const list = view.locator("select.database");
  const line = list.locator("option", { hasText: new RegExp(`^${path.replaceAll(".", "\\.")}( |$)`) });
  await line.waitFor({ state: "attached", timeout });
  await list.selectOption({ label: await line.innerText() });
}

/** Show a list of the left panel or a part of the details. */
export function tab(page: Page, name: string): Promise<void> {
  return page.getByRole("tab", { name, exact: true }).click();
}

/** Click something that downloads, and return the file's name and content. */
export async function downloaded(page: Page, click: () => Promise<void>) {
  const waiting = page.waitForEvent("download");
  await click();
  const download = await waiting;
  return { name: download.suggestedFilename(), content: readFileSync(await download.path()) };
}

/** The address of a database of the log folder. */
export async function addressOf(base: string, name: string, query = ""): Promise<string> {
  const found = await foundOf(base, name);
  return `${base}index.html?db=${encodeURIComponent(found.id)}${query}`;
}

/** A database once the server lists it: it looks at its folders every other second. */
async function foundOf(base: string, name: string): Promise<{ id: string }> {
  for (let tries = 0; ; tries += 1) {
    const answer = (await (await fetch(`${base}api/databases`)).json()) as {
      databases: { id: string; path: string }[];
    };
    const found = answer.databases.find(({ path }) => path.startsWith(`${name}/`));
    if (found) return found;
    if (tries === LISTING_TRIES) throw new Error(`no database ${name} in ${JSON.stringify(answer)}`);
    await new Promise((next) => setTimeout(next, 500));
  }
}

/** Wait until graphs are on the page. */
export async function graphsShown(page: Page | Frame): Promise<void> {
  await page.locator("canvas.diff-canvas, .boxes-frame, .pair-failed").first().waitFor();
  await rest(page);
}

/** Wait until all that was asked for is on screen, for the eye and for the ear.
 *
 * What was just done needs a frame to show, and another to be painted; from then on the page says
 * itself whether something is on its way. */
export async function rest(page: Page | Frame): Promise<void> {
  await page.evaluate(() => new Promise((next) => requestAnimationFrame(() => requestAnimationFrame(next))));
  await page.waitForFunction(
    () => document.querySelector("[aria-busy=true]") === null && !/Loading…|加载中/.test(document.body.innerText),
  );
}

/** The state that an address holds, wherever it stands in it. */
export function stateOf(page: Page): URLSearchParams {
  const { searchParams, hash } = new URL(page.url());
  const framed = hash.split("&").find((part) => part.startsWith("p.tb_graph_ascend.view="));
  return framed === undefined ? searchParams : new URLSearchParams(decodeURIComponent(framed.split("=")[1] ?? ""));
}

/** The name of the selected node. */
export function selectedName(page: Page | Frame): Promise<string> {
  return page.locator(".selected-name").innerText();
}

/** Type a query into the search box and wait for the answer of the nodes table. */
export async function query(page: Page, text: string): Promise<void> {
  await page.locator("#search").fill(text);
  await expect.poll(() => page.locator(".search-count").innerText()).toMatch(/^\d/);
}

/** Choose an unmatched node whose name begins so for a mapping. */
export async function pick(page: Page, name: string, texts = en): Promise<void> {
  await query(page, `unmatched ${name}`);
  const [before = ""] = texts.mapping.pick.split("{{name}}");
  await page.getByRole("button", { name: before + name }).first().click();
}

/** Wait for an address that holds a state. */
export async function stateIs(page: Page, key: string, value: string | RegExp): Promise<void> {
  await expect.poll(() => stateOf(page).get(key) ?? "").toMatch(value);
}
