/* What the colours mean, with the counts of the pair on screen, and the overflow switch. */

import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";

import { nodesQuery } from "../../api/queries";
import { OVERFLOW_SCORE } from "../../graph/appearance";
import { rampFill } from "../../graph/ramp";
import { useAnswer } from "../../hooks/useAnswer";
import { useCurrentPair, useDatabase } from "../../hooks/useDatabase";
import { listNodes } from "../../state/listing";
import { useApp } from "../../state/store";

const LEVELS = ["medium", "high", "critical"] as const;
const RAMP = `linear-gradient(to right, ${[0, 0.25, 0.5, 0.75, 1].map(rampFill).join(", ")})`;

export function Legend() {
  const { t } = useTranslation();
  const recolour = useApp((state) => state.recolour);
  const set = useApp((state) => state.set);
  const { data } = useDatabase();
  return (
    <div className="legend">
      {recolour === "score" ? data?.comparison !== false && <ScoreLegend /> : <LevelLegend />}
      <label className="switch" title={t("legend.recolour")}>
        <input
          type="checkbox"
          role="switch"
          aria-label={t("legend.recolour")}
          checked={recolour === "overflow"}
          onChange={({ target }) => set({ recolour: target.checked ? "overflow" : "score" })}
        />
        <span aria-hidden>{t("legend.overflow")}</span>
      </label>
    </div>
  );
}

/** The counts alone, for a header without room for the rest. */
export function LegendCounts() {
  const { data } = useDatabase();
  return data?.comparison ? (
    <div className="legend counts">
      <Counts />
    </div>
  ) : null;
}

function ScoreLegend() {
  const { t } = useTranslation();
  return (
    <>
      <span className="legend-ramp" title={t("legend.scoreHelp")}>
        <span>0</span>
        <span className="ramp" role="img" aria-label={t("legend.score")} style={{ backgroundImage: RAMP }} />
        <span>1</span>
      </span>
      <Counts />
    </>
  );
}

/** How many nodes of the step and rank on screen differ or have no partner; a narrow header has room for the numbers alone. */
function Counts() {
  const { t } = useTranslation();
  const pair = useCurrentPair();
  const threshold = useAnswer().data?.threshold;
  const microStep = useApp((state) => state.microStep);
  if (!pair) return null;
  if (pair.status !== "ok") return <span className="legend-count">{t("notes.notCompared")}</span>;
  const { divergent, unmatched_problem: ours, unmatched_benchmark: theirs } = pair;
  return (
    <>
      <Count query="divergent" text={t("legend.divergent", { count: divergent })} number={divergent} help={t("legend.divergentHelp", { threshold })}>
        <i className="swatch" aria-hidden style={{ background: rampFill(1) }} />
      </Count>
      <Count query="unmatched" text={t("legend.unmatchedCount", { count: ours + theirs })} number={ours + theirs} help={t("legend.unmatchedHelp")}>
        <i className="swatch hatched" aria-hidden />
      </Count>
      {microStep !== null && <span className="muted">{t("legend.wholeStep")}</span>}
    </>
  );
}

interface CountProps {
  query: string;
  text: string;
  number: number;
  help: string;
  /** The mark that stands before it. */
  children: ReactNode;
}

function Count({ query, text, number, help, children }: CountProps) {
  return (
    <button type="button" className="legend-count link" aria-label={text} title={`${text}\n${help}`} onClick={() => listNodes(query)}>
      {children}
      <span className="in-words">{text}</span>
      <span className="in-numbers">{number}</span>
    </button>
  );
}

function LevelLegend() {
  const { t } = useTranslation();
  const { data } = useDatabase();
  const nodes = useOverflowing();
  if (data && !data.overflow_checked) return <span className="muted">{t("legend.noLevels")}</span>;
  if (nodes === 0) return <span className="muted">{t("lists.overflowNone")}</span>;
  return LEVELS.map((level) => (
    <span key={level} className="legend-count" title={t(`levelMeans.${level}`)}>
      <i className="swatch" aria-hidden style={{ background: rampFill(OVERFLOW_SCORE[level]) }} />
      {t(`level.${level}`)}
    </span>
  ));
}

/** How many nodes of either side have a level; undefined while it is not known. */
function useOverflowing(): number | undefined {
  const db = useApp((state) => state.db);
  const step = useApp((state) => state.step);
  const rank = useApp((state) => state.rank);
  const { data } = useQuery({
    ...nodesQuery(db ?? "", step ?? 0, rank ?? 0, { show: "overflow", limit: 1 }),
    enabled: db !== null && step !== null && rank !== null,
  });
  return data?.total;
}
