/* With whom a call exchanges data, and a jump to the partner's rank. */

import { ArrowRight } from "lucide-react";
import { useTranslation } from "react-i18next";

import type { NodeDetails } from "../../api/types";
import { goTo } from "../../state/actions";
import { useApp } from "../../state/store";

export function CommunicationPanel({ details }: { details: NodeDetails }) {
  const { t } = useTranslation();
  const step = useApp((state) => state.step);
  const { communication } = details;
  if (communication.length === 0) return <p className="message">{t("details.noCommunication")}</p>;
  return (
    <div className="scroll">
      <ul className="links">
        {communication.map(({ kind, peer_rank, peer_node, peer_name }) => (
          <li key={`${kind} ${peer_rank} ${peer_node}`}>
            <span className="tag">{kind}</span>
            <span>rank {peer_rank}</span>
            <code>{peer_name ?? t("details.noPeer")}</code>
            {peer_node !== null && (
              <button
                type="button"
                className="button small"
                onClick={() => void goTo({ step: step ?? 0, rank: peer_rank, node: peer_node })}
              >
                {t("details.jump", { rank: peer_rank })} <ArrowRight aria-hidden size={13} />
              </button>
            )}
          </li>
        ))}
      </ul>
    </div>
  );
}
