/* One suspect: its name, score, reason, and what it propagated to folded below. */

import { useTranslation } from "react-i18next";

import type { Finding } from "../api/types";
import { scoreText } from "../graph/numbers";
import { useDatabase } from "../hooks/useDatabase";
import { wordOf } from "../i18n/reason";
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
          <span className="tag">{wordOf(t, "findingKind", finding.kind)}</span>
          {(data?.pairs.length ?? 0) > 1 && (
            <span>{t("findings.place", { step: finding.step, rank: finding.rank })}</span>
          )}
          {finding.introduced !== null && finding.introduced > 0 && (
            <span>{t("findings.introduced", { score: scoreText(finding.introduced) })}</span>
          )}
        </span>
        <ReasonList reasons={finding.reasons} />
      </button>
      {finding.propagated_to > 0 && <Propagated finding={finding} />}
    </li>
  );
}
