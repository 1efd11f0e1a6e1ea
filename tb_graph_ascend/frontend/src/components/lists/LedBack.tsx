/* The divergent nodes of the step and rank on screen that go back to a cause, or to none, loaded when unfolded. */

import { useInfiniteQuery } from "@tanstack/react-query";
import { ChevronRight } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";

import { divergentQuery, type LedTo } from "../../api/queries";
import { selectNode } from "../../state/actions";
import { useApp } from "../../state/store";
import { NodeName } from "../parts/NodeName";
import { ScoreChip } from "../parts/ScoreChip";

interface Props {
  /** The nodes of the cause on screen, or which of those that go back to none. */
  to: LedTo;
  text: string;
}

export function LedBack({ to, text }: Props) {
  const [open, setOpen] = useState(false);
  return (
    <div className="propagated">
      <button type="button" className="fold" aria-expanded={open} onClick={() => setOpen(!open)}>
        <ChevronRight aria-hidden size={13} />
        {text}
      </button>
      {open && <Nodes to={to} />}
    </div>
  );
}

function Nodes({ to }: Pick<Props, "to">) {
  const { t } = useTranslation();
  const db = useApp((state) => state.db);
  const step = useApp((state) => state.step);
  const rank = useApp((state) => state.rank);
  const { data, error, fetchNextPage, isFetchingNextPage } = useInfiniteQuery({
    ...divergentQuery(db ?? "", step ?? 0, rank ?? 0, to),
    enabled: db !== null && step !== null && rank !== null,
  });
  if (error) return <p className="message">{error.message}</p>;
  if (!data) return <p className="message">{t("loading")}</p>;
  const nodes = data.pages.flatMap((page) => page.nodes);
  const left = (data.pages[0]?.total ?? 0) - nodes.length;
  return (
    <ul>
      {nodes.map((node) => (
        <li key={node.id}>
          <button type="button" className="row-button" onClick={() => void selectNode(node.id)}>
            <NodeName node={node} />
            <ScoreChip score={node.score} />
          </button>
        </li>
      ))}
      {left > 0 && (
        <li>
          <button type="button" className="link" disabled={isFetchingNextPage} onClick={() => void fetchNextPage()}>
            {t("findings.more", { count: left })}
          </button>
        </li>
      )}
    </ul>
  );
}
