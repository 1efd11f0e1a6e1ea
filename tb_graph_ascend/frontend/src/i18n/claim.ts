/* What may be said of two runs and what it rests on, as `builder.claim` says it; its words are generated. */

import type { TFunction } from "i18next";

import type { Claim, Counted } from "../api/types";
import { CLAIM_NAMED } from "./claim.en";
import { shortNumber } from "../text/numbers";

/** What differs, or that nothing does: of these codes what was compared is told as well. */
const HEADS = new Set(["equal", "rounding", "close"]);
/** What the page has lines of its own for, with ways to what they are about. */
const LINES = new Set(["unmatched", "failed", "only_in"]);
const DIGITS = 2;

/** What may be said, alone, as the beginning of a sentence. */
export function claimHeadline(t: TFunction, claim: Claim, subject: "runs" | "trends" = "runs"): string {
  const general = t(`claim.say.${claim.code}`);
  const head = subject === "runs" ? general : t(`claim.say.${subject}.${claim.code}`, { defaultValue: general });
  if (!HEADS.has(claim.code) || claim.whole) return begun(head);
  return begun(t(claim.incomplete ? "claim.incomplete" : "claim.partly", { head }));
}

/** What a claim rests on: what differs, how far, and by what was compared. Without the largest error if it has a line of its own. */
export function claimEvidence(t: TFunction, { code, evidence }: Claim, withLargest = true): string[] {
  const lines: string[] = [];
  if (code === "differs") lines.push(listed(t, evidence.differences.map((each) => phrase(t, each))));
  const areTold = code === "close" && evidence.beyond > 0;
  if (areTold) lines.push(beyond(t, evidence));
  if (code === "close") lines.push(...evidence.differences.map((each) => phrase(t, each)));
  if (HEADS.has(code) && code !== "equal" && evidence.largest) {
    const { error, times, format, ...where } = evidence.largest;
    const rounded = times ? t("claim.rounded", { times, format }) : "";
    if (withLargest) lines.push(t("claim.largest", { percent: shortNumber(100 * error, DIGITS), rounded, ...where }));
    if (evidence.explained > 0 && !areTold) lines.push(t("claim.explained", { count: evidence.explained }));
  }
  return HEADS.has(code) ? [...lines, ...measures(t, code, evidence.compared)] : lines;
}

/** What was not compared and why, but for what the page tells in lines of its own. */
export function claimGaps(t: TFunction, { evidence }: Claim): string[] {
  return evidence.gaps.filter(({ code }) => !LINES.has(code)).map((gap) => t("claim.missing", { gaps: phrase(t, gap) }));
}

/** How many values exceed their tolerance: all of them, of which some may be explained. */
function beyond(t: TFunction, { beyond: count, explained }: Claim["evidence"]): string {
  return t(explained > 0 ? "claim.beyond_some" : "claim.beyond", { count, explained, all: count + explained });
}

function measures(t: TFunction, code: Claim["code"], compared: Counted[]): string[] {
  const equal = code === "equal";
  const told = compared.map(({ code: by, count }) => {
    const other = t(`claim.by.${by}`, { count, defaultValue: by });
    return equal ? t(`claim.equal.${by}`, { count, defaultValue: other }) : other;
  });
  if (told.length === 0) return [];
  return [equal ? listed(t, told) : t("claim.compared", { measures: listed(t, told) })];
}

function phrase(t: TFunction, { code, count, name }: Counted): string {
  const text = t(`claim.is.${code}`, { count, name, defaultValue: `${code} (${String(count)})` });
  return name && CLAIM_NAMED.has(code) ? text + t("claim.first", { name }) : text;
}

function listed(t: TFunction, phrases: string[]): string {
  return phrases.join(t("claim.comma"));
}

/** A phrase as a sentence begins. */
export function begun(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
