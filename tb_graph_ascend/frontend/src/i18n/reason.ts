/* A stored reason in the words of the interface's language. */

import type { TFunction } from "i18next";

import type { Reason } from "../api/types";
import { reasonsEn } from "./reasons.en";

/** The sentence of a reason; an unknown code (a newer file) is shown with its arguments. */
export function reasonText(t: TFunction, reason: Reason): string {
  const { code, ...facts } = reason;
  if (!(code in reasonsEn)) {
    const listed = Object.entries(facts).map(([key, value]) => `${key}: ${String(value)}`);
    return [code.replaceAll("_", " "), listed.join(", ")].filter(Boolean).join(" – ");
  }
  return t(`reasons.${code}`, facts);
}

/** Why two nodes cannot be mapped. */
export function refusalText(t: TFunction, reason: Reason): string {
  const { code, ...facts } = reason;
  return t(`refusals.${code}`, { ...facts, defaultValue: reasonText(t, reason) });
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
