/* One suspect: its name, score, reason, and what it propagated to folded below. */

import { useTranslation } from "react-i18next";

import type { Finding } from "../api/types";
import { scoreText } from "../graph/numbers";
import { useDatabase } from "../hooks/useDatabase";
import { kindText } from "../i18n/reason";
import { openFinding } from "../state/actions";
import { useApp } from "../state/store";
import { NodeName } from "./NodeName";
import { Propagated } from "./Propagated";
import { ReasonList } from "./ReasonList";
import { ScoreChip } from "./ScoreChip";

export function FindingCard({ finding, number }: { finding: Finding; number: number }) {
  const { t } = useTranslation();
  const { data } = useDatabase();
  const current = useApp((state) => state.selected === finding.node.id);
  const first = finding.id === 1 || number === 1;
  const introduced = introducedOf(finding);
  return (
    <li className={current ? "finding current" : "finding"}>
      <button
        type="button"
        className="finding-main"
        aria-current={current}
        onClick={() => void openFinding(finding)}
      >
        <span className="finding-head">
          <span className={first ? "number first" : "number"}>{number}</span>
          <NodeName node={finding.node} />
          <ScoreChip score={finding.score} />
        </span>
        <span className="finding-meta">
          {first && <span className="tag start">{t("findings.startHere")}</span>}
          <span className="tag">{kindText(t, finding)}</span>
          {(data?.pairs.length ?? 0) > 1 && (
            <span>{t("findings.place", { step: finding.step, rank: finding.rank })}</span>
          )}
          {introduced !== null && (
            <span>{t("findings.introduced", { score: scoreText(introduced) })}</span>
          )}
        </span>
        <ReasonList reasons={finding.reasons} />
      </button>
      {finding.propagated_to > 0 && <Propagated finding={finding} />}
    </li>
  );
}

/** What the node adds to the error of its inputs, where that is not its score once more. */
function introducedOf({ score, introduced }: Finding): number | null {
  const telling = introduced !== null && introduced > 0;
  return telling && scoreText(introduced) !== scoreText(score) ? introduced : null;
}
