/* No text is kept that nothing shows: each key stands in the sources, whole or as what fills a template. */
import { readFileSync, readdirSync } from "node:fs";
import { resolve } from "node:path";
import { expect, it } from "vitest";

import { en } from "../../src/i18n/en";
import { leaves } from "./leaves";

const SOURCES = resolve(import.meta.dirname, "../../src");
/** Files of texts alone. */
const TEXTS = /i18n\/(?:.+\.)?(?:en|zh)\.ts$/;
const FILES = readdirSync(SOURCES, { recursive: true, encoding: "utf8" }).filter((file) => /\.tsx?$/.test(file));
const read = (files: string[]): string => files.map((file) => readFileSync(resolve(SOURCES, file), "utf8")).join("\n");
const CODE = read(FILES.filter((file) => !TEXTS.test(file)));
const SAID = read(FILES.filter((file) => TEXTS.test(file)));

/** Words that the server chooses: no source of the page has to name them. */
const TOLD_BY_SERVER = /^(?:claim|reasons|communication|refusals|match|findingKind|verdictMeans|measures|facts\.(?:aside|side)|sure\.(?:word|basis)|search\.refused|trends\.alert|trends\.kinds|trends\.kindOf)\./;

const WORDS = new Set(CODE.match(/[\w-]+/g));
const WHOLE = new Set([...CODE.matchAll(/"([\w.-]+)"/g)].map(([, key]) => key));
const TEMPLATES = [
  ...[...CODE.matchAll(/`([\w.-]+\.[\w.-]*\$\{[^`]+)`/g)].map(([, template = ""]) => template),
  ...[...SAID.matchAll(/\$t\(([\w.]+)\.\{\{\w+\}\}\)/g)].map(([, group]) => `${group}.$\{word}`),
  ...[...CODE.matchAll(/wordOf\(t, "(\w+)"/g)].map(([, group]) => `${group}.$\{code}`),
].map((template) => new RegExp(`^${template.replaceAll(".", "\\.").replace(/\$\{[^}]*\}/g, "([\\w -]+)")}$`));

function isUsed(key: string): boolean {
  if (WHOLE.has(key)) return true;
  const filled = TEMPLATES.map((template) => template.exec(key)?.slice(1)).filter((words) => words !== undefined);
  return filled.some((words) => TOLD_BY_SERVER.test(key) || words.every((word) => WORDS.has(word)));
}

it("has no text that nothing shows", () => {
  const keys = leaves(en).map(([key]) => key.replace(/_(?:zero|one|other)$/, ""));
  expect(keys.filter((key) => !isUsed(key))).toEqual([]);
});
