/* Every step and rank by its worst score, where no node is selected: the way out of one that has no rows. */

import { useTranslation } from "react-i18next";

import type { Database, Pair } from "../../api/types";
import { openPair } from "../../state/actions";
import { useApp } from "../../state/store";
import { scoreText } from "../../text/numbers";
import { ScoreCell } from "../parts/ScoreCell";
import { StepRankTable } from "../ranks/StepRankTable";

export function PairsPanel({ database: { pairs, comparison } }: { database: Database }) {
  const { t } = useTranslation();
  return (
    <div className="scroll across">
      <div className="across-table">
        <StepRankTable
          label={t("across.pairs")}
          cells={pairs}
          draw={(pair) => (pair ? <Cell pair={pair} comparison={comparison} /> : <span className="cell absent" />)}
        />
      </div>
      <p className="message">{t(comparison ? "across.pairsMeans" : "across.pairsSingle")}</p>
    </div>
  );
}

function Cell({ pair: { step, rank, status, worst }, comparison }: { pair: Pair; comparison: boolean }) {
  const { t } = useTranslation();
  const current = useApp((state) => state.step === step && state.rank === rank);
  const place = { step, ranks: String(rank) };
  const told = status === "missing" ? t("strip.missing", place) : status === "failed" ? t("strip.failed", place) : null;
  const label = told ?? (comparison ? t("across.cell", { step, rank, score: scoreText(worst) }) : t("findings.place", { step, rank }));
  return <ScoreCell label={label} score={worst} single={!comparison} current={current} go={() => openPair(step, rank)} />;
}
