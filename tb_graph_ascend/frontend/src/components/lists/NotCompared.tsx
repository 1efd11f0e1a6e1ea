/* What of the step and rank on screen was not compared, each with the way to it, and what failed. */

import { useTranslation } from "react-i18next";

import type { Coverage } from "../../api/types";
import { useCurrentPair, useDatabase } from "../../hooks/useDatabase";
import { useWithoutValues } from "../../hooks/useWithoutValues";
import { listNodes, WITHOUT_VALUES } from "../../state/listing";
import { useApp } from "../../state/store";

interface Props {
  coverage: Coverage;
}

export function NotCompared({ coverage: { failed, one_sided: oneSided } }: Props) {
  const { t } = useTranslation();
  const set = useApp((state) => state.set);
  const { data } = useDatabase();
  const pair = useCurrentPair();
  const unmatched = (pair?.unmatched_problem ?? 0) + (pair?.unmatched_benchmark ?? 0);
  const silent = useWithoutValues("pair");
  if (unmatched + silent + oneSided + failed.length === 0) return null;
  return (
    <section className="not-compared">
      <h2>{t("notes.notCompared")}</h2>
      <ul>
        {unmatched > 0 && (
          <li>
            {t("notes.unmatched", { count: unmatched })} <Listing query="unmatched" />
            {data?.writable && (
              <>
                {" · "}
                <button type="button" className="link" onClick={() => set({ leftTab: "mapping" })}>
                  {t("answer.map")}
                </button>
              </>
            )}
          </li>
        )}
        {silent > 0 && (
          <li>
            {t("notes.withoutValues", { count: silent })} <Listing query={WITHOUT_VALUES} />
          </li>
        )}
        {oneSided > 0 && <li>{t("answer.oneSided", { count: oneSided })}</li>}
        {failed.map(({ step, rank, error }) => (
          <li key={`${step} ${rank}`}>{t("answer.failed", { step, rank, error: error ?? "" })}</li>
        ))}
      </ul>
    </section>
  );
}

function Listing({ query }: { query: string }) {
  const { t } = useTranslation();
  return (
    <button type="button" className="link" onClick={() => listNodes(query)}>
      {t("answer.list")}
    </button>
  );
}
