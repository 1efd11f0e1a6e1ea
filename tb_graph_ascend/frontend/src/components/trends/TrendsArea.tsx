/* The trends of a training: scalars on top, the heat map, and beside it alerts, the cell and lines. */

import { useQuery } from "@tanstack/react-query";
import { Suspense, lazy, useCallback, useEffect, useMemo } from "react";
import { useTranslation } from "react-i18next";

import { type TrendLine, trendAlertsQuery, trendScalarsQuery, trendSummaryQuery } from "../../api/trends";
import { useChosenLines } from "../../hooks/useChosenLines";
import { partsOf, useTrends } from "../../state/trends";
import { FailureNotice } from "../parts/FailureNotice";
import { AlertList } from "./AlertList";
import { CellPanel } from "./CellPanel";
import { HeatCanvas } from "./HeatCanvas";
import { LineTable } from "./LineTable";
import { Multiples } from "./Multiples";
import { Parting } from "./Parting";
import { RunKey } from "./RunKey";
import { useSeriesName } from "./seriesname";
import { TrendTools } from "./TrendTools";
import { colourName } from "../../graph/linecolours";

const TrendPlot = lazy(() => import(/* webpackChunkName: "trendplot" */ "./TrendPlot"));

const SCALARS = ["loss", "grad_norm", "lr"];
const NONE: readonly string[] = [];
/** A plot's room until it is here: what stands below it does not move under a hand that presses it. */
const ROOM = <div className="plot trend-plot" />;

export function TrendsArea({ run }: { run: string }) {
  const { t } = useTranslation();
  const { kind, open, step, other, table, multiples, chosen, set } = useTrends();
  const summary = useQuery(trendSummaryQuery(run));
  const found = useQuery(trendAlertsQuery(run)).data;
  const alerts = useMemo(() => found?.alerts ?? [], [found]);
  const marks = useMemo(() => [...new Set(alerts.map((alert) => alert.step))], [alerts]);
  const choose = useCallback((at: number): void => set({ step: at }), [set]);
  const kinds = summary.data?.kinds;
  // What the address says is asked for before the answer that says which there are.
  const shown = kinds ? (kinds.find((one) => one.kind === kind)?.kind ?? kinds[0]?.kind ?? null) : kind;
  useEffect(() => {
    if (summary.data && open === null) set({ open: summary.data.opened });
  }, [summary.data, open, set]);
  if (summary.isError) {
    return <FailureNotice error={summary.error} retry={() => void summary.refetch()} whole />;
  }
  if (!summary.data && (kind === null || open === null)) return <p className="splash">{t("loading")}</p>;
  const Rows = multiples ? Multiples : HeatCanvas;
  return (
    <main className="trends">
      {summary.data ? <TrendTools summary={summary.data} kind={shown} /> : <div className="trend-tools" />}
      {other !== null && <Parting run={run} other={other} />}
      {other !== null && <RunKey run={run} other={other} />}
      <Scalars run={run} marks={marks} choose={choose} />
      <div className="trend-columns">
        {shown !== null && <Rows run={run} kind={shown} open={open ?? NONE} marks={marks} />}
        <aside className="trend-side" aria-label={t("trends.alerts")}>
          <AlertList alerts={alerts} />
          <section aria-label={t("trends.lines")}>
            <h2>{t("trends.lines")}</h2>
            {chosen.length === 0 && <p className="muted">{t("trends.noLine")}</p>}
            {table ? <LineTable run={run} /> : <Lines run={run} marks={marks} choose={choose} />}
          </section>
          {step !== null && chosen[0] !== undefined && (
            <CellPanel run={run} step={step} {...partsOf(chosen[0])} />
          )}
        </aside>
      </div>
    </main>
  );
}

interface PlotsProps {
  run: string;
  marks: readonly number[];
  choose: (step: number) => void;
}

function Scalars({ run, marks, choose }: PlotsProps) {
  const { t } = useTranslation();
  const { step, other } = useTrends();
  const own = useQuery(trendScalarsQuery(run)).data?.lines;
  const beside = useQuery({ ...trendScalarsQuery(other ?? run), enabled: other !== null }).data?.lines;
  const theirs = other === null ? undefined : beside;
  // The same lines as long as the answers are: a step only moves a mark in what is drawn.
  const figures = useMemo(
    () => SCALARS.map((kind) => ({ kind, lines: linesOf(own, kind), others: linesOf(theirs, kind) })),
    [own, theirs],
  );
  return (
    <section className="trend-scalars" aria-label={t("trends.scalars")} aria-busy={own === undefined}>
      {own === undefined && (
        <figure>
          <figcaption>{t("loading")}</figcaption>
          {ROOM}
        </figure>
      )}
      {figures
        .filter(({ lines }) => lines.length > 0)
        .map(({ kind, lines, others }) => (
          <figure key={kind}>
            <figcaption>{captionOf(kind, lines)}</figcaption>
            <Suspense fallback={ROOM}>
              <TrendPlot label={kind} log={kind !== "lr"} {...{ lines, others, marks, step, choose }} />
            </Suspense>
          </figure>
        ))}
    </section>
  );
}

/** The kind, and where they say more the names: `loss`, `lr (group0, group1)`. */
function captionOf(kind: string, lines: readonly TrendLine[]): string {
  const names = lines.map(({ name }) => name).filter((name) => name !== kind);
  return names.length === 0 ? kind : `${kind} (${names.join(", ")})`;
}

/** The first three lines of a kind that have any step. */
function linesOf(lines: readonly TrendLine[] | undefined, kind: string): TrendLine[] {
  return (lines ?? []).filter((line) => line.kind === kind && line.steps.length > 0).slice(0, 3);
}

function Lines({ run, marks, choose }: PlotsProps) {
  const { t } = useTranslation();
  const { step, other } = useTrends();
  const { own, theirs, pending } = useChosenLines(run);
  const named = useSeriesName();
  if (own.length === 0) return pending ? ROOM : null;
  return (
    <>
      {other !== null && <RunKey run={run} other={other} />}
      <Suspense fallback={ROOM}>
        <TrendPlot label={t("trends.lines")} lines={own} others={theirs} log {...{ marks, step, choose }} />
      </Suspense>
      <ul className="trend-keys">
        {own.map(({ kind, name }, index) => (
          <li key={`${kind}/${name}`} style={{ borderColor: `var(--${colourName(index)})` }}>
            {named([kind, name])}
          </li>
        ))}
      </ul>
    </>
  );
}
