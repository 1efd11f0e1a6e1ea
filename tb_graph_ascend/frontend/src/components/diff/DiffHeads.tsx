/* The headings over the columns: which run stands where, and what the gutter's numbers are. */

import { Info, PanelRightClose, PanelRightOpen } from "lucide-react";
import type { CSSProperties } from "react";
import { useTranslation } from "react-i18next";

import type { Side } from "../../api/types";
import type { Column, Columns } from "../../graph/grid";
import { useDatabase } from "../../hooks/useDatabase";
import { useDiffSettings } from "../../state/diffsettings";
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
      <SideHead session={session} side="problem" name={data?.problem ?? ""} column={columns.problem} />
      {session.comparison && (
        <>
          <span className="diff-head number" style={at(columns.input)} title={t("diff.inputHelp")}>
            {t("diff.input")}
          </span>
          <span className="diff-head number" style={at(columns.output)} title={t("diff.outputHelp")}>
            {t("diff.output")}
          </span>
          {!folded && (
            <SideHead session={session} side="benchmark" name={data?.benchmark ?? ""} column={columns.benchmark} />
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

function SideHead({ session, side, name, column }: { session: GraphSession; side: Side; name: string; column: Column }) {
  const { t } = useTranslation();
  const graph = session.pair[side];
  const shown = session.comparison ? t(`side.${side}`) : t("side.single");
  return (
    <span className={`diff-head ${side}`} style={at(column)} title={graph?.dump_dir ?? name}>
      <span className={`side-tag ${session.comparison ? side : "single"}`}>{shown}</span>
      <span className="diff-run">{lastParts(name)}</span>
      <span className="muted nowrap">{graph ? t("graph.nodes", { count: graph.nodes }) : ""}</span>
    </span>
  );
}

function at({ x, width }: Column): CSSProperties {
  return { left: x, width };
}

/** The end of a path tells runs apart; the rest is on hover. */
function lastParts(path: string): string {
  return path.split(/[\\/]/).filter(Boolean).slice(-2).join("/");
}
