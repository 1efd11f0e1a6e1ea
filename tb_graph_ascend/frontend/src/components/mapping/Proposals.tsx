/* Unmatched modules that seem to be the same under another name, each with what speaks for it. */

import { Lightbulb } from "lucide-react";
import { useTranslation } from "react-i18next";

import type { Proposal } from "../../api/types";
import { useProposals } from "../../hooks/useProposals";
import { reasonText } from "../../i18n/reason";
import { selectNode } from "../../state/actions";
import { addMappings, mapAll, useMappingWork } from "../../state/mapping";
import { FailureNotice } from "../parts/FailureNotice";

export function Proposals() {
  const { t } = useTranslation();
  const asked = useProposals();
  const working = useMappingWork(({ pending }) => pending > 0);
  if (asked.isError) {
    return <FailureNotice error={asked.error} retry={() => void asked.refetch()} />;
  }
  if (!asked.data || asked.data.proposals.length === 0) return null;
  return (
    <section className="proposals">
      <h2>
        <Lightbulb aria-hidden size={14} /> {t("mapping.proposals")}
        <span className="spacer" />
        {asked.data.proposals.length > 1 && (
          <button
            type="button"
            className="button small primary"
            title={t("certainty.mapAllHelp")}
            disabled={working}
            onClick={() => void mapAll()}
          >
            {t("certainty.mapAll")}
          </button>
        )}
      </h2>
      <ul>
        {asked.data.proposals.map((proposal) => (
          <ProposalRow key={proposal.problem.id} proposal={proposal} />
        ))}
      </ul>
    </section>
  );
}

function ProposalRow({ proposal }: { proposal: Proposal }) {
  const { t } = useTranslation();
  const { problem, benchmark, names, reasons, places, pairs } = proposal;
  const working = useMappingWork(({ pending }) => pending > 0);
  const label = names.join(" ↔ ");
  const map = t(places > 1 ? "mapping.mapAll" : "mapping.map", { count: places });
  return (
    <li>
      <button
        type="button"
        className="row-button stacked"
        title={`${problem.name} ↔ ${benchmark.name}`}
        onClick={() => void selectNode(problem.id)}
      >
        <span className="node-tail">{label}</span>
        <span className="muted">
          {reasons.map((reason) => reasonText(t, reason)).join(", ")}
          {places > 1 && ` · ${t("mapping.places", { count: places })}`}
        </span>
      </button>
      <button
        type="button"
        className="button small"
        aria-label={`${map}: ${label}`}
        disabled={working}
        onClick={() => void addMappings(pairs)}
      >
        {map}
      </button>
    </li>
  );
}
