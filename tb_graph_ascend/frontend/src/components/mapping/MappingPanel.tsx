/* Pick one unmatched node of each side, map them, see and undo the manual pairs. */

import { useQuery } from "@tanstack/react-query";
import { Redo2, Undo2 } from "lucide-react";
import { useTranslation } from "react-i18next";

import { isServed } from "../../api/client";
import { mappingsQuery } from "../../api/queries";
import type { Mappings } from "../../api/types";
import { useDatabase } from "../../hooks/useDatabase";
import { refusalText } from "../../i18n/reason";
import { historyOf, mapPicked, measuredPairs, redoMapping, undoAllMappings, undoMapping, useMappingHistory, useMapReach } from "../../state/mapping";
import { type RefusedOnce, refusedOnce } from "../../state/refusals";
import { SIDES } from "../../state/session";
import { useApp } from "../../state/store";
import { FailureNotice } from "../parts/FailureNotice";
import { MappedPairs } from "./MappedPairs";
import { PickSlot } from "./PickSlot";
import { Proposals } from "./Proposals";
import { RebuildButton } from "./RebuildButton";
import { SharedWeights } from "./SharedWeights";

export function MappingPanel() {
  const { t } = useTranslation();
  const db = useApp((state) => state.db);
  const { data: database } = useDatabase();
  const mappings = useQuery({ ...mappingsQuery(db ?? ""), enabled: db !== null });
  if (mappings.isError) {
    return <FailureNotice error={mappings.error} retry={() => void mappings.refetch()} />;
  }
  if (!database || !mappings.data) return <p className="message">{t("loading")}</p>;
  if (!database.comparison) return <p className="message">{t("lists.unmatchedSingle")}</p>;
  if (database.read_only) return <ReadOnly mappings={mappings.data} />;
  if (!database.writable) return <p className="message">{t("mapping.foreign")}</p>;
  return (
    <div className="scroll mapping">
      <Proposals />
      <MapForm />
      <Outcome />
      <MappedPairs mappings={mappings.data} changeable />
      <RebuildButton mappings={mappings.data} />
      <SharedWeights pairs={mappings.data.pairs} />
    </div>
  );
}

function ReadOnly({ mappings }: { mappings: Mappings }) {
  const { t } = useTranslation();
  return (
    <div className="scroll mapping">
      <p className="muted">{t(isServed() ? "mapping.readOnly" : "offline.readOnly")}</p>
      <MappedPairs mappings={mappings} changeable={false} />
      <SharedWeights pairs={mappings.pairs} />
    </div>
  );
}

function MapForm() {
  const { t } = useTranslation();
  const picks = useApp((state) => state.picks);
  const db = useApp((state) => state.db);
  const { undo, redo } = useMappingHistory((histories) => historyOf(histories, db));
  const { descendants, everywhere } = useMapReach();
  const { data } = useDatabase();
  const ready = picks.problem !== null && picks.benchmark !== null;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void mapPicked();
      }}
    >
      <p className="muted">{t("mapping.explain")}</p>
      {SIDES.map((side) => (
        <PickSlot key={side} side={side} />
      ))}
      <label className="check">
        <input
          type="checkbox"
          checked={descendants}
          onChange={({ target }) => useMapReach.setState({ descendants: target.checked })}
        />
        {t("mapping.descendants")}
      </label>
      {(data?.pairs.length ?? 0) > 1 && (
        <label className="check">
          <input
            type="checkbox"
            checked={everywhere}
            onChange={({ target }) => useMapReach.setState({ everywhere: target.checked })}
          />
          {t("mapping.everywhere")}
        </label>
      )}
      <div className="toolbar plain">
        <button type="submit" className="button primary" disabled={!ready}>
          {t("mapping.map")}
        </button>
        <span className="spacer" />
        <button
          type="button"
          className="button"
          disabled={undo.length === 0}
          onClick={() => void undoMapping()}
        >
          <Undo2 aria-hidden size={14} /> {t("mapping.undo")}
        </button>
        <button
          type="button"
          className="button"
          disabled={redo.length === 0}
          onClick={() => void redoMapping()}
        >
          <Redo2 aria-hidden size={14} /> {t("mapping.redo")}
        </button>
        {undo.length > 1 && (
          <button type="button" className="button" onClick={() => void undoAllMappings()}>
            {t("mapping.undoAll")}
          </button>
        )}
      </div>
    </form>
  );
}

function Outcome() {
  const { t } = useTranslation();
  const db = useApp((state) => state.db);
  const { result, act } = useMappingHistory((histories) => historyOf(histories, db));
  if (!result) return null;
  const refused = refusedOnce(result.refused);
  const alone = refused.filter(({ benchmark }) => benchmark === null);
  const calls = alone.reduce((sum, { places }) => sum + places, 0);
  const back = act === "undo" || act === "unmade";
  return (
    <div role="status" className="outcome">
      <p>{t(SAID[act], { count: back ? result.nodes.length : measuredPairs(result) })}</p>
      {refused
        .filter(({ benchmark }) => benchmark !== null)
        .map((one) => (
          <Refusal key={JSON.stringify(one)} refused={one} />
        ))}
      {alone.length > 0 && (
        <details open={alone.length <= FEW}>
          <summary>{t("mapping.aloneCount", { count: calls })}</summary>
          {alone.map((one) => (
            <Refusal key={JSON.stringify(one)} refused={one} />
          ))}
        </details>
      )}
      {alone.length > 0 && <p className="muted">{t("mapping.aloneHint")}</p>}
    </div>
  );
}

/** Kinds of calls without a partner that are listed at once. */
const FEW = 3;

const SAID = { made: "mapping.done", unmade: "notice.undone", undo: "notice.undone", redo: "notice.redone" } as const;

/** A pair that does not fit, or what found no partner below a pair that does. */
function Refusal({ refused: { problem, benchmark, reason, places } }: { refused: RefusedOnce }) {
  const { t } = useTranslation();
  return (
    <p className={benchmark === null ? undefined : "refused"}>
      <strong>{t(benchmark === null ? "mapping.alone" : "mapping.refused")}:</strong>{" "}
      {benchmark === null ? problem : `${problem} ↔ ${benchmark}`} – <span>{refusalText(t, reason)}</span>
      {places > 1 && ` · ${t("mapping.places", { count: places })}`}
    </p>
  );
}
