/* The carriers of a finding: nodes that differ because of it, loaded when unfolded. */

import { useQuery } from "@tanstack/react-query";
import { ChevronRight } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";

import { nodesQuery } from "../../api/queries";
import type { Finding } from "../../api/types";
import { goTo } from "../../state/actions";
import { useApp } from "../../state/store";
import { NodeName } from "../parts/NodeName";
import { ScoreChip } from "../parts/ScoreChip";

const SHOWN = 100;

export function Propagated({ finding }: { finding: Finding }) {
  const { t } = useTranslation();
  const [open, setOpen] = useState(false);
  return (
    <div className="propagated">
      <button
        type="button"
        className="fold"
        aria-expanded={open}
        onClick={() => setOpen(!open)}
      >
        <ChevronRight aria-hidden size={13} />
        {t("findings.propagated", { count: finding.propagated_to })}
      </button>
      {open && <Carriers finding={finding} />}
    </div>
  );
}

function Carriers({ finding }: { finding: Finding }) {
  const { t } = useTranslation();
  const { db } = useApp.getState();
  const query = { show: "propagated", source: finding.node.id, sort: "order", limit: SHOWN };
  const { data, error } = useQuery({
    ...nodesQuery(db ?? "", finding.step, finding.rank, query),
    enabled: db !== null,
  });
  if (error) return <p className="message">{error.message}</p>;
  if (!data) return <p className="message">{t("loading")}</p>;
  const go = (node: number): void => void goTo({ step: finding.step, rank: finding.rank, node });
  return (
    <ul>
      {data.nodes.map((node) => (
        <li key={node.id}>
          <button type="button" className="row-button" onClick={() => go(node.id)}>
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
