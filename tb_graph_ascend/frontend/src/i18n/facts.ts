/* The words inside the facts of a reason: places of ranks, layouts, why values were set aside. */

import type { TFunction } from "i18next";

/** Facts that hold words of the builder; all others are names and numbers. */
const WORDED = {
  replica_differs: ["coordinates"],
  misplaced: ["coordinates"],
  shard_differs: ["coordinates"],
  on_ranks: ["coordinates", "there"],
  merged: ["problem", "benchmark"],
  merged_values: ["reasons"],
} as const;

const PHRASES = {
  rewritten: "inside what the layout rewrites",
  missing: "parts are missing",
  local: "local, as the layout file says",
  sizes: "sizes and groups of the layout",
  padding: "padding of the vocabulary",
  shapes: "its shapes fit no layout",
} as const;

/** The facts with the builder's words in those of the interface's language. */
export function wordedFacts<Fact>(t: TFunction, code: string, facts: Record<string, Fact>): Record<string, Fact | string> {
  const worded: Record<string, Fact | string> = { ...facts };
  if (!isWorded(code)) return worded;
  for (const name of WORDED[code]) {
    const fact = worded[name];
    if (typeof fact === "string") worded[name] = wordsOf(t, fact);
  }
  return worded;
}

function isWorded(code: string): code is keyof typeof WORDED {
  return code in WORDED;
}

function wordsOf(t: TFunction, text: string): string {
  if (text === "none") return t("facts.none");
  if (text === "one rank") return t("facts.oneRank");
  const places = text
    .replace(/(\w+) (\d+) of (\d+)/g, (_, axis: string, at: string, size: string) => t("facts.at", { axis, at, size }))
    .replace(/; and (\d+) more/, (_, count: string) => t("facts.more", { more: count }))
    .replace(/^; there: (.*)/, (_, name: string) => t("facts.there", { name }));
  return Object.entries(PHRASES).reduce((told, [key, phrase]) => told.replace(phrase, t(`facts.aside.${key}`)), places);
}
