/* The divergent nodes that go back to a cause in one step and rank, loaded when unfolded: those of the
 * step and rank on screen where it is on them, else of its first. */

import { useQuery } from "@tanstack/react-query";
import { ChevronRight } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";

import { nodesQuery } from "../../api/queries";
import type { Cause, CausePlace } from "../../api/types";
import { goTo } from "../../state/actions";
import { useApp } from "../../state/store";
import { NodeName } from "../parts/NodeName";
import { ScoreChip } from "../parts/ScoreChip";

const SHOWN = 100;

export function LedBack({ cause }: { cause: Cause }) {
  const { t } = useTranslation();
  const [open, setOpen] = useState(false);
  const step = useApp((state) => state.step);
  const rank = useApp((state) => state.rank);
  const place = cause.places.find((one) => one.step === step && one.rank === rank) ?? cause.places[0];
  if (!place?.led_back) return null;
  const told = t("answer.ledBack", { count: place.led_back, divergent: place.divergent });
  return (
    <div className="propagated">
      <button type="button" className="fold" aria-expanded={open} onClick={() => setOpen(!open)}>
        <ChevronRight aria-hidden size={13} />
        {cause.place_count > 1 ? t("findings.ledBackAt", { told, step: place.step, rank: place.rank }) : told}
      </button>
      {open && <Nodes place={place} />}
    </div>
  );
}

function Nodes({ place: { step, rank, node } }: { place: CausePlace }) {
  const { t } = useTranslation();
  const { db } = useApp.getState();
  const query = { show: "led_back", source: node, sort: "order", limit: SHOWN };
  const { data, error } = useQuery({ ...nodesQuery(db ?? "", step, rank, query), enabled: db !== null });
  if (error) return <p className="message">{error.message}</p>;
  if (!data) return <p className="message">{t("loading")}</p>;
  return (
    <ul>
      {data.nodes.map((one) => (
        <li key={one.id}>
          <button type="button" className="row-button" onClick={() => void goTo({ step, rank, node: one.id })}>
            <NodeName node={one} />
            <ScoreChip score={one.score} />
          </button>
        </li>
      ))}
      {data.total > data.nodes.length && (
        <li className="muted">{t("findings.more", { count: data.total - data.nodes.length })}</li>
      )}
    </ul>
  );
}
