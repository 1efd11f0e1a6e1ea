/* The headings over the columns: which run stands where, and what the gutter's numbers are. */

import { Info, PanelRightClose, PanelRightOpen } from "lucide-react";
import type { CSSProperties } from "react";
import { useTranslation } from "react-i18next";

import type { Side } from "../../api/types";
import type { Column, Columns } from "../../graph/grid";
import { useDatabase } from "../../hooks/useDatabase";
import { otherSide } from "../../graph/mapdrag";
import { useDiffSettings } from "../../state/diffsettings";
import { runName } from "../../text/runs";
import { Popup } from "../parts/Popup";
import { LegendKeys } from "./LegendKeys";
import type { GraphSession } from "../../state/session";

export function DiffHeads({ session, columns }: { session: GraphSession; columns: Columns }) {
  const { t } = useTranslation();
  const { data } = useDatabase();
  const { folded, setFolded } = useDiffSettings();
  if (columns.problem.width === 0) return <div className="diff-heads" />;
  const label = t(folded ? "diff.unfoldBenchmark" : "diff.foldBenchmark");
  return (
    <div className="diff-heads">
      <div className="diff-head rails" style={at(columns.rails)}>
        <Popup label={t("diff.flowLegend")} className="link" face={<>{t("diff.flow")} <Info aria-hidden size={12} /></>}>
          <FlowKnown session={session} />
          <LegendKeys />
        </Popup>
      </div>
      <SideHead session={session} side="problem" names={data} column={columns.problem} />
      {session.comparison && (
        <>
          <span className="diff-head number" style={at(columns.input)} title={t("diff.inputHelp")}>
            {t("diff.input")}
          </span>
          <span className="diff-head number" style={at(columns.output)} title={t("diff.outputHelp")}>
            {t("diff.output")}
          </span>
          <span className="diff-head number" style={at(columns.worst)} title={t("diff.worstHelp")}>
            {t("diff.worst")}
          </span>
          {!folded && (
            <SideHead session={session} side="benchmark" names={data} column={columns.benchmark} />
          )}
          <button type="button" className="icon diff-fold" aria-label={label} title={label} aria-pressed={folded} onClick={() => setFolded(!folded)}>
            {folded ? <PanelRightOpen aria-hidden size={15} /> : <PanelRightClose aria-hidden size={15} />}
          </button>
        </>
      )}
    </div>
  );
}

/** Looks through the rails only while the popup is open. */
function FlowKnown({ session }: { session: GraphSession }) {
  const { t } = useTranslation();
  return <p className="flow-known">{t(`diff.flowKnown.${session.diff.pages.flowKnown()}`)}</p>;
}

interface SideHeadProps {
  session: GraphSession;
  side: Side;
  /** Of the runs, once they are known. */
  names: Record<Side, string | null> | undefined;
  column: Column;
}

function SideHead({ session, side, names, column }: SideHeadProps) {
  const { t } = useTranslation();
  const graph = session.pair[side];
  const path = names?.[side] ?? "";
  const { folder, name } = runName(path, names?.[otherSide(side)] ?? "");
  const shown = session.comparison ? t(`side.${side}`) : t("side.single");
  return (
    <span className={`diff-head run ${side}`} style={at(column)} title={graph?.dump_dir ?? path}>
      <span className="diff-run">
        <span className={`side-tag ${session.comparison ? side : "single"}`}>{shown}</span>
        <span className="diff-run-name">
          <span className="diff-run-folder">{folder}</span>
          {name}
        </span>
        <span className="diff-run-nodes muted">{graph ? t("graph.nodes", { count: graph.nodes }) : ""}</span>
      </span>
    </span>
  );
}

function at({ x, width }: Column): CSSProperties {
  return { left: x, width };
}
