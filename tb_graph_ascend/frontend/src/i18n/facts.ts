/* The words inside the facts of a reason: places of ranks, layouts, why values were set aside. */

import type { TFunction } from "i18next";

import type { Reason } from "../api/types";
import { factsEn } from "./facts.en";
import { saysWhy } from "./findingreasons";

/** Facts that hold words of the builder; all others are names and numbers. */
const WORDED = {
  replica_differs: ["coordinates"],
  misplaced: ["coordinates"],
  shard_differs: ["coordinates"],
  on_ranks: ["coordinates", "there"],
  merged: ["problem", "benchmark"],
  merged_values: ["reasons"],
} as const;

const PHRASES = factsEn.aside;

/** Numbers that a rule measured: JSON has null where one is not finite. */
const MEASURES = ["error", "ratio", "cosine", "factor"];

/** Arguments as text: null where a run gives none. */
const GIVEN = ["problem", "benchmark"];

/** Names of calls, between them the comma of the language. */
const NAMED = ["names", "instead"];

/** What is said of nodes of all steps and ranks, the first of which is named with its place. */
const NODES: ReadonlySet<string> = new Set<Reason["code"]>(["rated_error", "untold_choices", "ties", "amplifies"]);
/** Below this share of what is to be explained, estimates of it say no more than their rounding. */
const HARDLY = 0.01;

/** The facts with the builder's words in those of the interface's language, and the clauses that they make. That nothing
 * explains a difference is not true right `below` the call that does. */
export function wordedFacts<Fact>(t: TFunction, code: string, facts: Record<string, Fact>, below: readonly Reason[] = []): Record<string, Fact | string> {
  const worded: Record<string, Fact | string> = { ...facts };
  if (typeof facts.argument === "string") worded.value = t("facts.argumentNamed", { value: String(facts.value), argument: facts.argument });
  if (typeof facts.at === "string") worded.value = t("facts.valueOf", { value: String(worded.value), at: facts.at });
  for (const name of MEASURES) if (facts[name] === null) worded[name] = t("facts.untold");
  for (const name of GIVEN) if (facts[name] === null) worded[name] = t("facts.notGiven");
  for (const name of NAMED) if (typeof facts[name] === "string") worded[name] = facts[name].replaceAll(", ", t("facts.comma"));
  if (code === "attribute_differs") worded.attribute = t(`facts.attribute.${String(facts.attribute)}`, { defaultValue: String(facts.attribute) });
  if (typeof facts.sure === "string") worded.sure = t(`facts.sure.${facts.sure}`);
  if (facts.shared === null) worded.shared = t("facts.notCounted");
  if (code === "explained") worded.before = facts.explained === 0 && saysWhy(below) ? "" : before(t, Number(facts.explained), Number(facts.apart));
  if (code === "unrecorded_differs") worded.perhaps = perhaps(t, facts.maker);
  if (code === "two_implementations") worded.parts = facts.fused === 0 ? "" : t("facts.parts", { fused: Number(facts.fused) });
  if (NODES.has(code)) worded.place = facts.step === undefined ? "" : t("facts.place", { step: facts.step, rank: facts.rank });
  if (!isWorded(code)) return worded;
  for (const name of WORDED[code]) {
    const fact = worded[name];
    if (typeof fact === "string") worded[name] = wordsOf(t, fact);
  }
  return worded;
}

/** How much of what a value is off is explained by what differs before it. */
function before(t: TFunction, explained: number, apart: number): string {
  if (explained === 0) return t("facts.before.nothing");
  const share = explained / apart;
  return share < HARDLY ? t("facts.before.hardly") : t("facts.before.share", { share });
}

/** What may have made a value that no recorded call made. */
function perhaps(t: TFunction, maker: unknown): string {
  return typeof maker === "string" ? t("facts.perhaps.maker", { maker }) : t("facts.perhaps.unknown");
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
