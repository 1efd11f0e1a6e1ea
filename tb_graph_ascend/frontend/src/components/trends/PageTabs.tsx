/* The two pages of the plugin: the comparison and the trends; the second only where there are any. */

import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";

import { trendsQuery } from "../../api/trends";
import { NOWHERE, useTrends } from "../../state/trends";

export function PageTabs({ comparisons }: { comparisons: boolean }) {
  const { t } = useTranslation();
  const runs = useQuery(trendsQuery()).data?.runs ?? [];
  const { run, set } = useTrends();
  if (runs.length === 0 && run === null) return null;
  const open = (): void => set({ ...NOWHERE, run: runs[0]?.id ?? null });
  return (
    <nav className="page-tabs" aria-label={t("trends.pages")}>
      {comparisons && (
        <button type="button" aria-pressed={run === null} onClick={() => set(NOWHERE)}>
          {t("trends.diff")}
        </button>
      )}
      <button type="button" aria-pressed={run !== null} onClick={run === null ? open : undefined}>
        {t("trends.tab")}
      </button>
    </nav>
  );
}
