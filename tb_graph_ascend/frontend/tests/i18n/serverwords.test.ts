/* Every word that the server can send has a text in both languages, and no key is put together unseen. */
import { readFileSync, readdirSync } from "node:fs";
import { resolve } from "node:path";
import { describe, expect, it } from "vitest";

import { textsOf } from "../../src/i18n/difftexts";
import { en } from "../../src/i18n/en";
import { changeLanguage, createI18n } from "../../src/i18n/setup";

const ROOT = resolve(import.meta.dirname, "../../../..");
const SOURCES = resolve(import.meta.dirname, "../../src");

/** The members of a Literal that a Python module defines by name. */
function members(file: string, name: string): string[] {
  const source = readFileSync(resolve(ROOT, file), "utf8");
  const body = new RegExp(`^${name}(?:: TypeAlias)? = Literal\\[([^\\]]*)\\]`, "m").exec(source)?.[1] ?? "";
  const found = [...body.matchAll(/"([^"]+)"/g)].map(([, word = ""]) => word);
  expect(found.length).toBeGreaterThan(1);
  return found;
}

describe("words of the server", () => {
  it("of a row are texts in both languages, with a cause and without one", async () => {
    const i18n = createI18n();
    const words = members("tb_graph_ascend/view/diff/words.py", "Word").filter((word) => word !== "none");
    for (const language of ["en", "zh"] as const) {
      await changeLanguage(i18n, language);
      for (const begins of [true, false]) {
        const told = new Map(Object.entries(textsOf(i18n.t, begins).word));
        for (const word of words) expect([language, word, told.get(word)]).toEqual([language, word, expect.stringMatching(/^(?!undefined|diff\.).+/)]);
      }
    }
  });

  it.each([
    ["tb_graph_ascend/server/trend_messages.py", "AlertKind", Object.keys(en.trends.alert)],
    ["builder/results/records.py", "Overflow", Object.keys(en.level)],
    ["builder/results/records.py", "Task", Object.keys(en.task)],
    ["builder/compare/forgiveness.py", "LetPassBy", Object.keys(en.answer.explained)],
  ])("of %s %s have a text", (file, name, keys) => {
    expect(keys).toEqual(expect.arrayContaining(members(file, name)));
  });
});

describe("keys", () => {
  it("are never put together past the type that knows which exist", () => {
    const files = readdirSync(SOURCES, { recursive: true, encoding: "utf8" }).filter((file) => /\.tsx?$/.test(file));
    const casts = files.flatMap((file) => {
      const code = readFileSync(resolve(SOURCES, file), "utf8");
      return [...code.matchAll(/\bt\(\s*`[^`]*\bas\b[^`]*`/g)].map(([text]) => `${file}: ${text}`);
    });
    expect(casts).toEqual([]);
  });
});
