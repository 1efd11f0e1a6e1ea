/* Which of two runs is drawn solid and which dashed. */

import { useTranslation } from "react-i18next";

import { useRunNames } from "../../hooks/useRunNames";

export function RunKey({ run, other }: { run: string; other: string }) {
  const { t } = useTranslation();
  const named = useRunNames();
  return (
    <p className="trend-runs">
      <span className="solid">{t("trends.solid", { run: named(run) })}</span>
      <span className="dashed">{t("trends.dashed", { run: named(other) })}</span>
    </p>
  );
}
