/* A stored reason in the words of the interface's language. */

import type { TFunction } from "i18next";

import type { Finding, Reason, Refusal } from "../api/types";
import { toldBriefly } from "../graph/named";
import { besideTexts, shortNumber, withoutZeros } from "../text/numbers";
import { wordedFacts } from "./facts";
import { tellsKind } from "./findingreasons";
import { reasonsEn } from "./reasons.en";

/** The sentence of a reason, calls and modules told as the rows tell them, as it is said `below` others of its finding. */
export function reasonText(t: TFunction, reason: Reason, below: readonly Reason[] = []): string {
  return toldBriefly(reasonSentence(t, reason, below));
}

/** The sentence with whole names. */
export function reasonSentence(t: TFunction, { code, ...facts }: Reason, below: readonly Reason[] = []): string {
  return t(`reasons.${sentenceOf(code, facts)}`, wordedFacts(t, code, shortened(facts), below));
}

/** A reason may say of what its number is (`of`), for which there may be a sentence of its own. */
function sentenceOf(code: Reason["code"], { of }: Record<string, unknown>): string {
  const own = `${code}_${String(of)}`;
  return own in reasonsEn ? own : code;
}

/** Long numbers with four digits, those of the two runs with as many as show how far they are apart. */
function shortened<Fact>(facts: Record<string, Fact>): Record<string, Fact | string> {
  const short: Record<string, Fact | string> = Object.fromEntries(Object.entries(facts).map(([key, fact]) => [key, shortFact(fact)]));
  const { problem, benchmark } = facts;
  if (!isNumber(problem) || !isNumber(benchmark)) return short;
  const [ours, theirs] = besideTexts(Number(problem), Number(benchmark)).map(withoutZeros);
  return { ...short, problem: isLong(problem) ? ours ?? problem : problem, benchmark: isLong(benchmark) ? theirs ?? benchmark : benchmark };
}

/** Arguments of so many characters are as long as their four digits would be: they are told as they were given. */
const BRIEF = 7;
const LONG = /^-?\d*\.\d{5,}(?:e[-+]?\d+)?$/i;

function isNumber(fact: unknown): fact is string {
  return typeof fact === "string" && fact.trim() !== "" && Number.isFinite(Number(fact));
}

function isLong(fact: string): boolean {
  return fact.length > BRIEF && LONG.test(fact);
}

function shortFact<Fact>(fact: Fact): Fact | string {
  return typeof fact === "string" && isLong(fact) ? withoutZeros(shortNumber(Number(fact))) : fact;
}

/** The sentence with every digit, for those who point at it. */
export function fullReason(t: TFunction, { code, ...facts }: Reason, below: readonly Reason[] = []): string {
  return t(`reasons.${sentenceOf(code, facts)}`, wordedFacts(t, code, facts, below));
}

function isGradientWanted(reason: Reason): boolean {
  return reason.code === "attribute_differs" && reason.attribute === "requires_grad";
}

/** What a finding is, in a word or two. */
export function kindText(t: TFunction, { kind, reasons }: Finding): string {
  const told = reasons.some(isGradientWanted) ? "requires_grad" : reasons.find(tellsKind)?.code;
  return wordOf(t, "findingKind", told ?? kind);
}

/** Why two nodes cannot be mapped. */
export function refusalText(t: TFunction, { code, ...facts }: Refusal): string {
  return t(`refusals.${code}`, { ...facts, defaultValue: unknownText(code, facts) });
}

/** A code without words (a newer server) with what it says. */
function unknownText(code: string, facts: Record<string, unknown>): string {
  const listed = Object.entries(facts).map(([key, value]) => `${key}: ${String(value)}`);
  return [code.replaceAll("_", " "), listed.join(", ")].filter(Boolean).join(" – ");
}

/** Why a query cannot be asked; null where no words are known for it. */
export function refusedQuery(t: TFunction, reason: Refusal | null): string | null {
  if (reason === null) return null;
  const { code, ...facts } = reason;
  return t(`search.refused.${code}`, { ...facts, defaultValue: "" }) || null;
}

/** Why a node matched or not; `renamed:<name>` names the candidate. */
export function matchText(t: TFunction, reason: string): string {
  const [code = "", ...name] = reason.split(":");
  if (name.length === 0) return wordOf(t, "match", code);
  return `${wordOf(t, "match", code)}: ${name.join(":")}`;
}

/** A word the server sends as a code, e.g. why a node matched; unknown ones are shown as they are. */
export function wordOf(t: TFunction, group: string, code: string): string {
  return t(`${group}.${code}`, { defaultValue: code.replaceAll("_", " ") });
}
