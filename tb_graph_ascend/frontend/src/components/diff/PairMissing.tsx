/* In the place of rows where one run alone has the step and rank: which run, where its dump lies, where to go on. */

import { useTranslation } from "react-i18next";

import { useAnswer } from "../../hooks/useAnswer";
import { useDatabase } from "../../hooks/useDatabase";
import { openPair, showPlace } from "../../state/actions";
import { beginningOf } from "../../state/former";
import { nearestCompared } from "../../state/pairs";
import type { GraphSession } from "../../state/session";
import { Command } from "../parts/Command";

export function PairMissing({ session: { pair } }: { session: GraphSession }) {
  const { t } = useTranslation();
  const { data } = useDatabase();
  const { data: answer } = useAnswer();
  const beginning = answer && beginningOf(answer);
  const near = data && nearestCompared(data.pairs, pair);
  const { step, rank, only, folder } = pair;
  return (
    <div className="pair-failed missing" role="status">
      <h2>{only ? t("graph.missing", { side: only, step, rank }) : t("graph.missingSomewhere", { step, rank })}</h2>
      <p>{t("graph.missingMeans")}</p>
      <p className="missing-ways">
        {beginning && (
          <button type="button" className="button primary" onClick={() => void showPlace(beginning)}>
            {t("graph.missingCause")}
          </button>
        )}
        {near && (
          <button type="button" className="button" onClick={() => void openPair(near.step, near.rank)}>
            {t("graph.missingTo", near)}
          </button>
        )}
      </p>
      {folder !== null && (
        <>
          <p>{t("graph.missingAlone")}</p>
          <Command text={`msprobe graph_visualize -tp ${folder} -o graph_output`} />
        </>
      )}
    </div>
  );
}
