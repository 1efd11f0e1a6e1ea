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

/** A word the server sends as a code, e.g. why a node matched; unknown ones are shown as they are. */
export function wordOf(t: TFunction, group: string, code: string): string {
  return t(`${group}.${code}`, { defaultValue: code.replaceAll("_", " ") });
}
