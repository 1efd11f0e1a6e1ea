/* A browser page that fails the test when the page itself complains, and what journeys do on it. */
import { type Browser, type BrowserContextOptions, type Frame, type Page, chromium } from "playwright-core";
import { afterAll, beforeAll, expect } from "vitest";

const EXECUTABLE = process.env.CHROMIUM ?? "/usr/bin/chromium";
const ARGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"];

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

/** A fresh page in its own context, as a second person would have it. */
export async function open(url: string, options: BrowserContextOptions = {}): Promise<Opened> {
  const context = await browser.newContext({
    viewport: { width: 1440, height: 900 },
    locale: "en-US",
    reducedMotion: "reduce",
    ...options,
  });
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on("console", (message) => {
    if (message.type() === "error") complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(String(error)));
  await page.goto(url);
  return { page, complaints };
}

/** The address of a database of the log folder. */
export async function addressOf(base: string, name: string, query = ""): Promise<string> {
  const answer = (await (await fetch(`${base}api/databases`)).json()) as {
    databases: { id: string; path: string }[];
  };
  const found = answer.databases.find(({ path }) => path.startsWith(`${name}/`));
  if (!found) throw new Error(`no database ${name} in ${JSON.stringify(answer)}`);
  return `${base}index.html?db=${encodeURIComponent(found.id)}${query}`;
}

/** Wait until graphs are on the page. */
export async function graphsShown(page: Page | Frame): Promise<void> {
  await page.locator("canvas[data-side=problem]").waitFor();
  await page.waitForFunction(() => !document.body.innerText.includes("Loading…"));
}

/** The name of the selected node. */
export function selectedName(page: Page | Frame): Promise<string> {
  return page.locator(".selected-name").innerText();
}

/** Wait for an address that holds a state. */
export async function stateIs(page: Page, key: string, value: string | RegExp): Promise<void> {
  await expect
    .poll(() => new URL(page.url()).searchParams.get(key), { timeout: 8000 })
    .toMatch(value);
}
