/* The selected node in every step and rank: a heat map to jump from, and its score over the steps. */

import { useQuery } from "@tanstack/react-query";
import { Suspense, lazy, useMemo } from "react";
import { useTranslation } from "react-i18next";

import { acrossQuery } from "../../api/queries";
import type { Across, AcrossCell, NodeDetails } from "../../api/types";
import { scoreText } from "../../text/numbers";
import { useAnswer } from "../../hooks/useAnswer";
import { useDatabase } from "../../hooks/useDatabase";
import { goTo } from "../../state/actions";
import { isGivenWorse, noSeriesText, scoreWith, unscoredText } from "../../state/causes";
import { colourName } from "../../graph/linecolours";
import { ranksOf, stepsOf } from "../../state/pairs";
import { useApp } from "../../state/store";
import { FailureNotice } from "../parts/FailureNotice";
import { ScoreCell } from "../parts/ScoreCell";
import { SeriesKeys } from "./SeriesKeys";
import { StepRankTable } from "../ranks/StepRankTable";

const Plot = lazy(() => import(/* webpackChunkName: "plot" */ "./Plot"));
/** Lines of a chart that can still be told apart. */
const MOST_RANKS = 8;
const SCORES: [number, number] = [0, 1];

export function AcrossPanel({ details }: { details: NodeDetails }) {
  const { t } = useTranslation();
  const db = useApp((state) => state.db);
  const { data: database } = useDatabase();
  const causes = useAnswer().data?.causes ?? [];
  const answer = useQuery({ ...acrossQuery(db ?? "", details.node.id), enabled: db !== null });
  if (answer.isError) {
    return <FailureNotice error={answer.error} retry={() => void answer.refetch()} />;
  }
  if (!answer.data) return <p className="message">{t("loading")}</p>;
  const single = database?.comparison === false;
  const steps = stepsOf(answer.data.cells);
  const scored = answer.data.cells.some(({ score }) => score !== null);
  return (
    <div className="scroll across">
      <div className="across-table">
        <StepRankTable
          label={t(single ? "across.places" : "across.label", { name: answer.data.name })}
          cells={answer.data.cells}
          draw={(cell) => <Cell cell={cell} />}
        />
      </div>
      {scored ? (
        steps.length > 1 && <ScoreOverSteps across={answer.data} steps={steps} />
      ) : (
        <p className="message">{single ? t("across.single") : noSeriesText(t, details, answer.data.cells, causes)}</p>
      )}
    </div>
  );
}

function Cell({ cell }: { cell: AcrossCell | undefined }) {
  const { t } = useTranslation();
  const current = useApp(({ step, rank }) => cell?.step === step && cell.rank === rank);
  const { data } = useDatabase();
  const told = useAnswer().data;
  const causes = told?.causes ?? [];
  if (cell?.node == null) {
    const alone = data?.pairs.some(({ step, rank, status }) => status === "missing" && step === cell?.step && rank === cell.rank);
    return <span className="cell absent" title={t(alone ? "across.alone" : "across.absent")} />;
  }
  const { step, rank, node } = cell;
  const isGiven = isGivenWorse(cell, told?.threshold);
  const score = isGiven ? cell.input_score : scoreWith(causes, cell);
  const single = data?.comparison === false;
  const word = unscoredText(t, causes, cell);
  const said = word === null ? t(isGiven ? "across.cellGiven" : "across.cell", { step, rank, score: scoreText(score) }) : t("across.cellOfCause", { step, rank });
  const label = single ? t("findings.place", { step, rank }) : said;
  return <ScoreCell label={label} score={score} single={single} current={current} go={() => goTo({ step, rank, node })} word={word} />;
}

function ScoreOverSteps({ across, steps }: { across: Across; steps: number[] }) {
  const { t } = useTranslation();
  const threshold = useAnswer().data?.threshold;
  const series = useMemo(
    () =>
      ranksOf(across.cells)
        .slice(0, MOST_RANKS)
        .map((rank, index) => ({
          label: t("findings.rank", { rank }),
          colour: colourName(index),
          values: steps.map((step) => scoreAt(across, step, rank, threshold)),
        })),
    [across, steps, t, threshold],
  );
  return (
    <Suspense fallback={<p className="message">{t("loading")}</p>}>
      <figure>
        <figcaption>
          {t("across.title")}
          <SeriesKeys series={series} />
        </figcaption>
        <Plot
          label={t("across.plot", { name: across.name })}
          x={steps}
          series={series}
          range={SCORES}
          integers
        />
      </figure>
    </Suspense>
  );
}

function scoreAt(across: Across, step: number, rank: number, threshold: number | undefined): number | null {
  const found = across.cells.find((cell) => cell.step === step && cell.rank === rank);
  return found === undefined ? null : isGivenWorse(found, threshold) ? found.input_score : found.score;
}
