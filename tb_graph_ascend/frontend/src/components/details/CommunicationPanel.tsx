/* With whom a call exchanges data: every member by rank, what went into it and came out, the way there. */

import { ArrowRight } from "lucide-react";
import { useTranslation } from "react-i18next";

import type { CommunicationLink, Node, NodeDetails } from "../../api/types";
import { calledAs } from "../../graph/called";
import { useCarrier } from "../../hooks/useCarrier";
import { useDatabase } from "../../hooks/useDatabase";
import { wordOf } from "../../i18n/reason";
import { goTo, selectNode } from "../../state/actions";
import { useApp } from "../../state/store";
import { ScoreChip } from "../parts/ScoreChip";

export function CommunicationPanel({ details }: { details: NodeDetails }) {
  const { t } = useTranslation();
  const rank = useApp((state) => state.rank) ?? 0;
  const { data } = useDatabase();
  const { communication, node } = details;
  if (communication.length === 0) return <NoCommunication node={node} />;
  const own: CommunicationLink = {
    kind: communication[0]?.kind === "collective" ? "collective" : "",
    peer_rank: rank,
    peer_node: node.id,
    peer_name: node.name,
    peer_input_score: node.input_score,
    peer_score: node.score ?? details.handed_on?.score ?? null,
  };
  const members = [own, ...communication].sort((a, b) => a.peer_rank - b.peer_rank);
  return (
    <div className="scroll">
      <table className="members">
        <thead>
          <tr>
            <th scope="col">{t("details.rank")}</th>
            <th scope="col">{t("details.call")}</th>
            {data?.comparison && <th scope="col">{t("details.inOut")}</th>}
            <th scope="col" aria-label={t("details.way")} />
          </tr>
        </thead>
        <tbody>
          {members.map((one, index) => (
            // Several partners on one rank may be unknown.
            <Member key={`${one.kind} ${one.peer_rank} ${one.peer_node ?? `unknown ${index}`}`} one={one} own={one === own} scored={data?.comparison === true} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** A call that talks to no other rank; what comes of it may go through one that does. */
function NoCommunication({ node }: { node: Node }) {
  const { t } = useTranslation();
  const carrier = useCarrier(node);
  return (
    <p className="message">
      {t("details.noCommunication")}{" "}
      {carrier && (
        <>
          {t("details.carriedBy")}{" "}
          <button type="button" className="link" onClick={() => void selectNode(carrier.id)}>
            {calledAs(carrier)}
          </button>
        </>
      )}
    </p>
  );
}

function Member({ one, own, scored }: { one: CommunicationLink; own: boolean; scored: boolean }) {
  const { t } = useTranslation();
  const step = useApp((state) => state.step) ?? 0;
  const { kind, peer_rank: rank, peer_node: node, peer_name: name } = one;
  return (
    <tr aria-current={own}>
      <th scope="row">{rank}</th>
      <td>
        <code>{name ?? t("details.noPeer")}</code> {kind !== "" && <span className="tag">{wordOf(t, "communication", kind)}</span>}
      </td>
      {scored && (
        <td>
          <ScoreChip score={one.peer_input_score} /> → <ScoreChip score={one.peer_score} />
        </td>
      )}
      <td>
        {own ? (
          <span className="muted">{t("details.thisRank")}</span>
        ) : (
          node !== null && (
            <button type="button" className="button small" onClick={() => void goTo({ step, rank, node })}>
              {t("details.jump", { rank })} <ArrowRight aria-hidden size={13} />
            </button>
          )
        )}
      </td>
    </tr>
  );
}
