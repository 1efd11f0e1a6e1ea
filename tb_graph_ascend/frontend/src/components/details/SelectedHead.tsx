/* The selected node's name, partner and what can be done with it. */

import type { TFunction } from "i18next";
import { ArrowLeftRight, Unlink } from "lucide-react";
import { useTranslation } from "react-i18next";

import type { NodeDetails } from "../../api/types";
import { isUnmatched } from "../../graph/appearance";
import { useAnswer } from "../../hooks/useAnswer";
import { useDatabase } from "../../hooks/useDatabase";
import { matchText, reasonText } from "../../i18n/reason";
import { goTo, pickNode, selectNode } from "../../state/actions";
import { causeAt, causeOnAnotherRank, leadsToMore } from "../../state/causes";
import { unmap } from "../../state/mapping";
import { useApp } from "../../state/store";
import { scoreText } from "../../text/numbers";
import { nodeScoreSentence } from "../../text/scores";
import { CopyButton } from "../parts/CopyButton";
import { CauseScore } from "../parts/CauseScore";
import { NodeScore } from "../parts/NodeScore";
import { ScoreChip } from "../parts/ScoreChip";

export function SelectedHead({ details }: { details: NodeDetails }) {
  const { t } = useTranslation();
  const { data } = useDatabase();
  const { node, partner } = details;
  return (
    <div className="selected-head">
      <SideTag details={details} />
      {data?.comparison && <OwnScore details={details} />}
      {node.kind === "collection" ? (
        <span className="selected-name">{t("boxes.between", { count: node.children })}</span>
      ) : (
        <>
          <code className="selected-name" title={node.name}>
            {node.name}
          </code>
          <CopyButton text={node.name} label={t("details.copyName")} />
        </>
      )}
      {partner && partner.name !== node.name && (
        <code className="partner-name muted" title={partner.name}>
          ↔ {partner.name}
        </code>
      )}
      {node.match_reason !== null && node.kind !== "root" && (
        <span className="tag">{node.match_reason === "name" && partner && partner.name !== node.name ? t("match.renumbered") : matchText(t, node.match_reason)}</span>
      )}
      <CauseThere details={details} />
      <PartnerActions details={details} />
    </div>
  );
}

/** Its score; of a call without a partner, which has none, that of what it hands on. Beside it stands what it leads to,
 * of a cause that itself hands on nothing that differs. */
function OwnScore({ details }: { details: NodeDetails }) {
  const { t } = useTranslation();
  const { handed_on: handed } = details;
  // The scores of a pair are the problem's: the benchmark's node of it shows the same.
  const node = details.node.side === "benchmark" && details.partner ? details.partner : details.node;
  const cause = causeAt(useAnswer().data?.causes ?? [], node.id);
  if (node.score === null && handed) {
    return <ScoreChip score={handed.score} title={t("findings.scoreHandedOn", { score: scoreText(handed.score) })} />;
  }
  return (
    <>
      {(node.score !== null || !cause) && <NodeScore score={node.score} input={node.input_score} title={scoreTitle(t, details, node)} />}
      {cause && (node.score === null || leadsToMore(cause)) && <CauseScore cause={cause} />}
    </>
  );
}

/** Of a call that is a cause on another rank and none here: the way there. */
function CauseThere({ details: { node } }: { details: NodeDetails }) {
  const { t } = useTranslation();
  const rank = useApp((state) => state.rank);
  const place = causeOnAnotherRank(useAnswer().data?.causes ?? [], node, rank);
  if (!place) return null;
  return (
    <button type="button" className="link" title={t("details.causeThereHelp", { step: place.step, rank: place.rank })} onClick={() => void goTo(place)}>
      {t("details.causeThere", { rank: place.rank })}
    </button>
  );
}

/** Which run alone has the node; of a pair both names are there. */
function SideTag({ details: { node, partner } }: { details: NodeDetails }) {
  const { t } = useTranslation();
  const { data } = useDatabase();
  if (partner || !data?.comparison) return null;
  return <span className={`side-tag ${node.side}`}>{t(`side.${node.side}`)}</span>;
}

/** The score in words; msprobe's verdict stands here only, with what it means and what it rests on. */
function scoreTitle(t: TFunction, details: NodeDetails, node: NodeDetails["node"]): string {
  const alone = node.score === null ? t("legend.noScore") : t("details.scoreIs", { score: scoreText(node.score) });
  const score = nodeScoreSentence(t, details) ?? alone;
  if (node.verdict === null) return score;
  const rules = node.reasons.map((reason) => reasonText(t, reason));
  return [score, t(`verdictMeans.${node.verdict}`), ...rules].join("\n");
}

function PartnerActions({ details: { node, partner } }: { details: NodeDetails }) {
  const { t } = useTranslation();
  const { data } = useDatabase();
  if (!data?.comparison) return null;
  if (partner) {
    const problem = node.side === "problem" ? node : partner;
    return (
      <>
        <button
          type="button"
          className="icon small"
          aria-label={t("help.keys.partner")}
          title={t("help.keys.partner")}
          onClick={() => void selectNode(partner.id)}
        >
          <ArrowLeftRight aria-hidden size={15} />
        </button>
        {data.writable && node.match_reason === "manual" && (
          <button type="button" className="button small" onClick={() => void unmap(problem.id)}>
            <Unlink aria-hidden size={13} /> {t("details.unmap")}
          </button>
        )}
      </>
    );
  }
  if (!data.writable || !isUnmatched(node, true)) return null;
  return (
    <button type="button" className="button small" onClick={() => pickNode(node)}>
      {t("details.pick")}
    </button>
  );
}
