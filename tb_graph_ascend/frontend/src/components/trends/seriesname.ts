/* A series in words: `gradient of layers.0.fc1.weight`, or the name of a scalar alone. */

import type { TFunction } from "i18next";
import { useTranslation } from "react-i18next";

import { en } from "../../i18n/en";

/** A kind of series by its title; one without a title by its key. */
export function kindTitle(t: TFunction, kind: string): string {
  return isOf(en.trends.kinds, kind) ? t(`trends.kinds.${kind}`) : kind;
}

export function useSeriesName(): (target: readonly [string, string]) => string {
  const { t } = useTranslation();
  return ([kind, name]) => t(`trends.kindOf.${isOf(en.trends.kindOf, kind) ? kind : "scalar"}`, { name });
}

function isOf<Texts extends object>(texts: Texts, key: string): key is keyof Texts & string {
  return key in texts;
}
