/* Buttons over the rows: where one is, expand, collapse, the way from the cause, higher rows. */

import { AArrowDown, AArrowUp, ChevronsDownUp, ChevronsUpDown, type LucideIcon, PanelLeftClose, PanelLeftOpen, Route, Workflow } from "lucide-react";
import { useTranslation } from "react-i18next";

import { useDiff } from "../../hooks/useDiff";
import { useLayout } from "../../state/layout";
import { useBoxes } from "../../state/boxes";
import type { GraphSession } from "../../state/session";
import { runShortcut } from "../../state/shortcuts";
import { SelectedPath } from "../details/SelectedPath";

const ZOOM_STEP = 1.25;

export function DiffTools({ session }: { session: GraphSession }) {
  const { t } = useTranslation();
  const diff = useDiff(session);
  const graphed = useBoxes(({ module }) => module !== null);
  const press = (key: string): void => void runShortcut(key, false);
  return (
    <div className="graph-tools" role="toolbar" aria-label={t("graph.tools")}>
      <ListsButton />
      <SelectedPath session={session} />
      <span className="spacer" />
      <button
        type="button"
        className={graphed ? "button small active" : "button small"}
        aria-pressed={graphed}
        title={t("boxes.showHelp")}
        onClick={() => press("v")}
      >
        <Workflow aria-hidden size={14} /> {t("boxes.show")}
      </button>
      {/* The graph has tools of its own; these are of the rows. */}
      {!graphed && (
        <>
          {session.comparison && (
            <button
              type="button"
              className={diff.way ? "button small active" : "button small"}
              aria-pressed={diff.way !== null}
              title={t("diff.wayHelp")}
              onClick={() => press("g")}
            >
              <Route aria-hidden size={14} /> {t("diff.way")}
            </button>
          )}
          <Tool label={t("graph.expandAll")} word={t("graph.expand")} icon={ChevronsUpDown} run={() => press("e")} />
          <Tool label={t("graph.collapseAll")} word={t("graph.collapse")} icon={ChevronsDownUp} run={() => press("c")} />
          <Tool label={t("diff.lower")} icon={AArrowDown} run={() => diff.pane?.zoom(1 / ZOOM_STEP)} />
          <Tool label={t("diff.higher")} icon={AArrowUp} run={() => diff.pane?.zoom(ZOOM_STEP)} />
        </>
      )}
    </div>
  );
}

function ListsButton() {
  const { t } = useTranslation();
  const { lists, setLists } = useLayout();
  const label = t(lists ? "frame.hideLists" : "frame.showLists");
  return <Tool label={label} icon={lists ? PanelLeftClose : PanelLeftOpen} run={() => setLists(!lists)} />;
}

interface ToolProps {
  label: string;
  /** Stands beside the icon where there is room. */
  word?: string;
  icon: LucideIcon;
  run: () => void;
}

function Tool({ label, word, icon: Icon, run }: ToolProps) {
  return (
    <button type="button" className="icon" aria-label={label} title={label} onClick={run}>
      <Icon aria-hidden size={16} />
      {word !== undefined && <span className="tool-word">{word}</span>}
    </button>
  );
}
