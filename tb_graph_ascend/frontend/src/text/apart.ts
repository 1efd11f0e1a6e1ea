/* How far two values of a series are apart, as a person reads it. */

import type { TFunction } from "i18next";

import { isZeroBeside, octavesApart } from "../graph/octaves";
import { octavesText, shortNumber } from "./numbers";

type Value = number | null | undefined;

/** `5.32`, or the two values where one of them is exactly 0: no number of octaves leads to that. */
export function apartText(t: TFunction, one: Value, other: Value): string {
  if (isZeroBeside(one, other)) return t("trends.zeroBeside", { here: shortNumber(one), there: shortNumber(other) });
  return octavesText(octavesApart(one, other));
}

/** The same as a sentence: `5.32 octaves apart`. */
export function apartSentence(t: TFunction, one: Value, other: Value): string {
  const factor = apartText(t, one, other);
  return isZeroBeside(one, other) ? factor : t("trends.apart", { factor });
}
