/* Buttons over the graphs: zoom, fit, expand, collapse, both sides together. */

import {
  ChevronsDownUp,
  ChevronsUpDown,
  Link2,
  Link2Off,
  Maximize,
  ZoomIn,
  ZoomOut,
} from "lucide-react";
import { useTranslation } from "react-i18next";

import { expandAllBelow, setSync } from "../state/actions";
import type { GraphSession } from "../state/session";
import { useApp } from "../state/store";
import { SelectedPath } from "./SelectedPath";

const ZOOM_STEP = 1.25;

export function GraphTools({ session }: { session: GraphSession }) {
  const { t } = useTranslation();
  const sync = useApp((state) => state.sync);
  const lead = session.link.view("problem") ? "problem" : "benchmark";
  const zoom = (factor: number): void => session.link.view(lead)?.zoom(factor);
  return (
    <div className="graph-tools" role="toolbar" aria-label={t("graph.tools")}>
      <SelectedPath session={session} />
      <span className="spacer" />
      {session.comparison && (
        <button
          type="button"
          className="icon"
          aria-pressed={sync}
          aria-label={t("graph.sync")}
          title={t("graph.sync")}
          onClick={() => setSync(!sync)}
        >
          {sync ? <Link2 aria-hidden size={16} /> : <Link2Off aria-hidden size={16} />}
        </button>
      )}
      <Tool label={t("graph.expandAll")} icon={ChevronsUpDown} run={() => void expandAllBelow()} />
      <Tool
        label={t("graph.collapseAll")}
        icon={ChevronsDownUp}
        run={() => {
          session.collapseAll();
          session.link.fitAll();
        }}
      />
      <Tool label={t("graph.zoomOut")} icon={ZoomOut} run={() => zoom(1 / ZOOM_STEP)} />
      <Tool label={t("graph.zoomIn")} icon={ZoomIn} run={() => zoom(ZOOM_STEP)} />
      <Tool label={t("graph.fit")} icon={Maximize} run={() => session.link.fitAll()} />
    </div>
  );
}

interface ToolProps {
  label: string;
  icon: typeof ZoomIn;
  run: () => void;
}

function Tool({ label, icon: Icon, run }: ToolProps) {
  return (
    <button type="button" className="icon" aria-label={label} title={label} onClick={run}>
      <Icon aria-hidden size={16} />
    </button>
  );
}
