/* Every pair of tokens that stands as text on a ground is readable, in both themes, hovered too. */
import { readFileSync, readdirSync } from "node:fs";
import { resolve } from "node:path";
import { describe, expect, it } from "vitest";

import { luminance } from "../src/graph/ramp";


const STYLES = resolve(import.meta.dirname, "../src/styles");
const TOKENS = readFileSync(`${STYLES}/tokens.css`, "utf8");

/** WCAG 2.2: text, and the parts of controls that tell them apart. */
const TEXT = 4.5;
const PART = 3;

const GROUNDS = ["page", "raised", "hover", "current", "canvas"];
const PAIRS: [ink: string, ground: string, least: number][] = [
  ...GROUNDS.map((ground): [string, string, number] => ["ink", ground, TEXT]),
  ...GROUNDS.map((ground): [string, string, number] => ["muted", ground, TEXT]),
  ["ink", "box", TEXT],
  ["ink", "nested", TEXT],
  ["accent-ink", "accent", TEXT],
  ["accent-ink", "accent-hover", TEXT],
  ["accent", "page", TEXT],
  ["accent", "raised", TEXT],
  ["accent", "current", TEXT],
  ["problem", "problem-soft", TEXT],
  ["benchmark", "benchmark-soft", TEXT],
  ["warning", "warning-soft", TEXT],
  ["warning", "page", TEXT],
  ["problem", "page", TEXT],
  ["ink", "problem-soft", TEXT],
  ["ink", "benchmark-soft", TEXT],
  ["cause", "page", PART],
  ["accent", "canvas", PART],
  ["hit", "canvas", PART],
  ["accent", "hover", PART],
  ["page", "ink", TEXT],
  ...["violet", "cyan", "pink"].map((line): [string, string, number] => [line, "page", PART]),
];

/** Lines and fillings that tell nothing by themselves; they are to be seen, not to be read. */
const SEEN = 1.15;
const DECOR: [ink: string, ground: string, least: number][] = [
  ...["page", "raised", "canvas"].map((ground): [string, string, number] => ["line", ground, SEEN]),
  ["box-border", "box", SEEN],
  ["hatch", "box", SEEN],
];

function tokens(theme: "light" | "dark"): Map<string, string> {
  const start = theme === "light" ? ":root {" : ':root[data-theme="dark"] {';
  const block = TOKENS.slice(TOKENS.indexOf(start)).split("}")[0] ?? "";
  return new Map([...block.matchAll(/--([\w-]+): (#[0-9a-f]{6});/g)].map(([, name = "", value = ""]) => [name, value]));
}

function contrast(one: readonly number[], other: readonly number[]): number {
  const [high = 0, low = 0] = [luminance(one), luminance(other)].sort((a, b) => b - a);
  return (high + 0.05) / (low + 0.05);
}

function rgb(hex: string): number[] {
  return [1, 3, 5].map((at) => Number.parseInt(hex.slice(at, at + 2), 16));
}

describe.each(["light", "dark"] as const)("%s theme", (theme) => {
  const known = tokens(theme);
  it.each(PAIRS)("%s on %s", (ink, ground, least) => {
    const [above, below] = [known.get(ink), known.get(ground)];
    if (above === undefined || below === undefined) throw new Error(`--${ink} or --${ground} is no token`);
    expect(contrast(rgb(above), rgb(below))).toBeGreaterThanOrEqual(least);
  });
  it.each(DECOR)("%s is seen on %s", (line, ground, least) => {
    expect(contrast(rgb(known.get(line) ?? ""), rgb(known.get(ground) ?? ""))).toBeGreaterThanOrEqual(least);
  });
  it("leaves no colour untested", () => {
    const tested = new Set([...PAIRS, ...DECOR].flatMap(([ink, ground]) => [ink, ground]));
    expect([...known.keys()].filter((name) => !tested.has(name))).toEqual([]);
  });
  it("defines the same colours as the other", () => {
    const other = tokens(theme === "light" ? "dark" : "light");
    expect([...known.keys()].sort()).toEqual([...other.keys()].sort());
  });
});

describe("hover", () => {
  it("changes colours by tokens, never by a filter that no test can see", () => {
    for (const file of ["frame", "answer", "panels", "tables"]) {
      expect(readFileSync(`${STYLES}/${file}.css`, "utf8")).not.toMatch(/brightness\(/);
    }
  });
});

describe("classes", () => {
  it("are each set somewhere", () => {
    const sheets = readdirSync(STYLES).map((file) => readFileSync(`${STYLES}/${file}`, "utf8").replace(/\/\*.*?\*\//gs, ""));
    const sources = readdirSync(resolve(STYLES, ".."), { recursive: true, encoding: "utf8" })
      .filter((file) => /\.tsx?$/.test(file))
      .map((file) => readFileSync(resolve(STYLES, "..", file), "utf8"))
      .join();
    const selectors = sheets.flatMap((sheet) => [...sheet.matchAll(/([^{}]+)\{/g)].map(([, selector = ""]) => selector));
    const styled = new Set(selectors.flatMap((selector) => [...selector.matchAll(/\.([a-z][\w-]*)/gi)].map(([, name = ""]) => name)));
    const set = new Set(sources.match(/[a-z][\w-]*/gi));
    expect([...styled].filter((name) => !set.has(name) && name !== "uplot" && !name.startsWith("u-"))).toEqual([]);
  });
});
