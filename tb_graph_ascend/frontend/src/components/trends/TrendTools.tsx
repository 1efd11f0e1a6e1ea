/* Which run, which series, which steps: what the trends show is chosen here. */

import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useId } from "react";
import { useTranslation } from "react-i18next";

import { STATISTICS, type Statistic, type TrendSummary, trendPartingQuery, trendsQuery } from "../../api/trends";
import { NOWHERE, kindChosen, rangeAround, useTrends, zoomedSteps } from "../../state/trends";
import { kindTitle } from "./seriesname";

export function TrendTools({ summary, kind }: { summary: TrendSummary; kind: string | null }) {
  const { t } = useTranslation();
  const { run, other, statistic, absolute, table, multiples, open, chosen, first, last, step, set } = useTrends();
  const runs = useQuery(trendsQuery()).data?.runs ?? [];
  const others = runs.filter(({ id }) => id !== run);
  const low = first ?? summary.first;
  const high = last ?? summary.last;
  const parting = useQuery({ ...trendPartingQuery(run ?? "", other ?? ""), enabled: run !== null && other !== null }).data;
  // Around what is chosen, else where the runs part: any other step would be one among many.
  const around = step ?? parting?.step ?? null;
  const count = zoomedSteps(low, high);
  return (
    <div className="trend-tools">
      <Choice label={t("trends.run")} value={run ?? ""} change={(id) => set({ ...NOWHERE, run: id })}>
        {runs.map(({ id, path }) => (
          <option key={id} value={id}>
            {path}
          </option>
        ))}
      </Choice>
      <Choice label={t("trends.other")} value={other ?? ""} change={(id) => set({ other: id || null })}>
        <option value="">{t("trends.none")}</option>
        {others.map(({ id, path }) => (
          <option key={id} value={id}>
            {path}
          </option>
        ))}
      </Choice>
      <Choice label={t("trends.kind")} value={kind ?? ""} change={(one) => set(kindChosen(one, { open, chosen }))}>
        {summary.kinds.map(({ kind: one, targets }) => (
          <option key={one} value={one}>
            {`${kindTitle(t, one)} (${String(targets)})`}
          </option>
        ))}
      </Choice>
      <Choice label={t("trends.statistic")} value={statistic} change={(one) => set({ statistic: one as Statistic })}>
        {STATISTICS.map((one) => (
          <option key={one}>{one}</option>
        ))}
      </Choice>
      <Switch label={t("trends.absolute")} on={absolute} change={(on) => set({ absolute: on })} />
      <Switch label={t("trends.multiples")} on={multiples} change={(on) => set({ multiples: on })} />
      <Switch label={t("trends.table")} on={table} change={(on) => set({ table: on })} />
      <span className="muted">{t("trends.steps", { first: low, last: high })}</span>
      {around !== null && count !== null && (
        <button type="button" onClick={() => set(rangeAround(around, count, summary))}>
          {t("trends.zoom", { count, step: around })}
        </button>
      )}
      {(first !== null || last !== null) && (
        <button type="button" onClick={() => set({ first: null, last: null })}>
          {t("trends.whole")}
        </button>
      )}
      <span className="trend-legend" aria-hidden>
        {multiples ? null : other === null ? (
          <>
            {t(absolute ? "trends.lowestAbsolute" : "trends.lowest")} <i className="scale two-sided" /> {t(absolute ? "trends.highestAbsolute" : "trends.highest")}
          </>
        ) : (
          <>
            {t("trends.alikeScale")} <i className="scale one-sided" /> {t("trends.parted")}
          </>
        )}
      </span>
    </div>
  );
}

interface ChoiceProps {
  label: string;
  value: string;
  change: (value: string) => void;
  children: ReactNode;
}

function Choice({ label, value, change, children }: ChoiceProps) {
  const id = useId();
  return (
    <span className="trend-choice">
      <label htmlFor={id}>{label}</label>
      <select id={id} value={value} onChange={(event) => change(event.target.value)}>
        {children}
      </select>
    </span>
  );
}

function Switch({ label, on, change }: { label: string; on: boolean; change: (on: boolean) => void }) {
  return (
    <label className="trend-choice">
      <input type="checkbox" checked={on} onChange={(event) => change(event.target.checked)} />
      {label}
    </label>
  );
}
