/* One row of the nodes table: a matched pair, or a node that is on one side only. */

import { Plus } from "lucide-react";
import type { CSSProperties } from "react";
import { useTranslation } from "react-i18next";

import type { NodeRow } from "../../api/types";
import { isUnmatched } from "../../graph/appearance";
import { BACK, calledBriefly } from "../../graph/called";
import { useDatabase } from "../../hooks/useDatabase";
import { matchText } from "../../i18n/reason";
import { pickNode } from "../../state/actions";
import { useApp } from "../../state/store";
import { ScoreChip } from "../parts/ScoreChip";

interface Props {
  row: NodeRow;
  index: number;
  active: boolean;
  /** Whether step and rank are shown: rows of several are listed. */
  places: boolean;
  style: CSSProperties;
  choose: () => void;
}

export function NodeTableRow({ row, index, active, places, style, choose }: Props) {
  const { t } = useTranslation();
  const { node, partner, module } = row;
  const { data } = useDatabase();
  const selected = useApp((state) => state.selected === node.id || (node.match !== null && state.selected === node.match));
  const renamed = partner !== null && partner !== node.name;
  return (
    // The keys of the table do what a click does.
    // eslint-disable-next-line jsx-a11y/click-events-have-key-events, jsx-a11y/interactive-supports-focus
    <div
      id={`node-row-${index}`}
      role="row"
      aria-rowindex={index + 1}
      aria-selected={active}
      className={`row table-row${selected ? " current" : ""}${active ? " active" : ""}${places ? " placed" : ""}`}
      style={style}
      onClick={choose}
    >
      <span role="gridcell" className="cell-node" title={renamed ? `${node.name} ↔ ${partner}` : node.name}>
        {node.match === null && data?.comparison && (
          <span className={`side-dot ${node.side}`} title={t("lists.onlyIn", { side: t(`side.${node.side}`) })} />
        )}
        <span className="node-tail">
          {calledBriefly(node)}
        </span>
        {node.direction === "backward" && (
          <span className="muted" role="img" aria-label={t("direction.backward")} title={t("direction.backward")}>
            {BACK}
          </span>
        )}
      </span>
      <span role="gridcell" className="cell-layer cut-front" title={module ?? ""}>
        <bdi>{module ?? "–"}</bdi>
      </span>
      {places && (
        <span role="gridcell" className="cell-place" title={t("findings.place", { step: row.step, rank: row.rank })}>
          {row.step}·{row.rank}
        </span>
      )}
      <span role="gridcell" className="cell-score">
        <RowState row={row} />
      </span>
    </div>
  );
}

/** The score; for a node without a partner that of what it hands on, why it has none, and the button that maps it. */
function RowState({ row: { node } }: { row: NodeRow }) {
  const { t } = useTranslation();
  const { data } = useDatabase();
  if (!data?.comparison) return null;
  if (!isUnmatched(node, true)) return <ScoreChip score={node.score} />;
  const why = node.match_reason === null ? t("lists.unmatched") : matchText(t, node.match_reason);
  return (
    <>
      <span className="tag brief" title={why}>
        {why}
      </span>
      {node.score !== null && <ScoreChip score={node.score} title={t("findings.scoreHandedOn", { score: node.score })} />}
      {data.writable && (
        <button
          type="button"
          className="icon small"
          tabIndex={-1}
          aria-label={t("mapping.pick", { name: node.name })}
          title={t("mapping.pick", { name: node.name })}
          onClick={(event) => {
            event.stopPropagation();
            pickNode(node);
          }}
        >
          <Plus aria-hidden size={15} />
        </button>
      )}
    </>
  );
}
