/* A series in words: `gradient of layers.0.fc1.weight`, or the name of a scalar alone. */

import { useTranslation } from "react-i18next";

import { en } from "../../i18n/en";

export function useSeriesName(): (target: readonly [string, string]) => string {
  const { t } = useTranslation();
  return ([kind, name]) => {
    const known = kind in en.trends.kindOf ? (kind as "grad") : "scalar";
    return t(`trends.kindOf.${known}`, { name });
  };
}
