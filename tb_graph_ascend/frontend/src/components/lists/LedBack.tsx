/* The divergent nodes of the step and rank on screen that go back to a cause, or to none, loaded when unfolded. */

import { useQuery } from "@tanstack/react-query";
import { ChevronRight } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";

import { divergentQuery } from "../../api/queries";
import { selectNode } from "../../state/actions";
import { useApp } from "../../state/store";
import { NodeName } from "../parts/NodeName";
import { ScoreChip } from "../parts/ScoreChip";

interface Props {
  /** The nodes of the cause on screen; null for those that go back to none. */
  cause: readonly number[] | null;
  text: string;
}

export function LedBack({ cause, text }: Props) {
  const [open, setOpen] = useState(false);
  return (
    <div className="propagated">
      <button type="button" className="fold" aria-expanded={open} onClick={() => setOpen(!open)}>
        <ChevronRight aria-hidden size={13} />
        {text}
      </button>
      {open && <Nodes cause={cause} />}
    </div>
  );
}

function Nodes({ cause }: Pick<Props, "cause">) {
  const { t } = useTranslation();
  const db = useApp((state) => state.db);
  const step = useApp((state) => state.step);
  const rank = useApp((state) => state.rank);
  const { data, error } = useQuery({
    ...divergentQuery(db ?? "", step ?? 0, rank ?? 0, cause),
    enabled: db !== null && step !== null && rank !== null,
  });
  if (error) return <p className="message">{error.message}</p>;
  if (!data) return <p className="message">{t("loading")}</p>;
  return (
    <ul>
      {data.nodes.map((node) => (
        <li key={node.id}>
          <button type="button" className="row-button" onClick={() => void selectNode(node.id)}>
            <NodeName node={node} />
            <ScoreChip score={node.score} />
          </button>
        </li>
      ))}
      {data.total > data.nodes.length && (
        <li className="muted">{t("findings.more", { count: data.total - data.nodes.length })}</li>
      )}
    </ul>
  );
}
