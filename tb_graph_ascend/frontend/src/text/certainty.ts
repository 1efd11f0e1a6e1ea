/* How sure a cause is, in words: builder/finding_certainty.py says the same for command and report. */

import type { TFunction } from "i18next";

import type { Certainty } from "../api/types";

/** The word, and why; of a file that does not say it, that. */
export function certaintyText(t: TFunction, certainty: Certainty | null): string {
  if (certainty === null) return t("sure.untold");
  const basis = t(`sure.basis.${certainty.basis}`);
  const why = certainty.behind ? [basis, t("sure.behind")].join(t("sure.and")) : basis;
  return t("sure.told", { word: t(`sure.word.${certainty.word}`), why });
}
