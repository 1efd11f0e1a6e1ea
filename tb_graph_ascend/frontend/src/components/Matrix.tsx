/* Steps × ranks, one cell for the worst score of each: when and on which rank it began. */

import { useTranslation } from "react-i18next";

import type { Database, Pair } from "../api/types";
import { scoreText } from "../graph/numbers";
import { inkOn, rampColor } from "../graph/ramp";
import { choosePair } from "../state/actions";
import { useApp } from "../state/store";
import { StepRankTable } from "./StepRankTable";

export function Matrix({ database }: { database: Database }) {
  const { t } = useTranslation();
  return (
    <section className="matrix">
      <p className="muted">{t(database.comparison ? "matrix.hint" : "matrix.hintSingle")}</p>
      <div className="matrix-scroll">
        <StepRankTable
          label={t("matrix.label")}
          cells={database.pairs}
          draw={(pair) => <Cell pair={pair} />}
        />
      </div>
    </section>
  );
}

function Cell({ pair }: { pair: Pair | undefined }) {
  const { t } = useTranslation();
  const current = useApp(({ step, rank }) => pair?.step === step && pair.rank === rank);
  if (!pair) return <span className="cell absent" />;
  const { step, rank, status, worst, divergent } = pair;
  const key = status === "ok" ? "cell" : status === "failed" ? "failedCell" : "missingCell";
  const label = t(`matrix.${key}`, { step, rank, score: scoreText(worst), count: divergent });
  const scored = status === "ok" && worst !== null;
  const style = scored ? { background: rampColor(worst), color: inkOn(worst) } : undefined;
  return (
    <button
      type="button"
      className={`cell ${status}`}
      aria-label={label}
      aria-current={current}
      title={pair.error ?? label}
      style={style}
      onClick={() => void choosePair(step, rank)}
    >
      {cellText(pair)}
    </button>
  );
}

function cellText({ status, worst }: Pair): string {
  if (status === "failed") return "✕";
  return status === "ok" && worst !== null ? scoreText(worst) : "–";
}
