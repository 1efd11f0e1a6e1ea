/* One side's graph: heading, canvas and its tools, with the minimap beside it. */

import { useTranslation } from "react-i18next";

import type { Side } from "../api/types";
import { useDatabase } from "../hooks/useDatabase";
import { useGraphView } from "../hooks/useGraphView";
import type { GraphSession } from "../state/session";
import { Minimap } from "./Minimap";

export function GraphPane({ session, side }: { session: GraphSession; side: Side }) {
  const { t } = useTranslation();
  const { canvas, minimap, frame, hovered } = useGraphView(session, side);
  const { data } = useDatabase();
  const name = (side === "problem" ? data?.problem : data?.benchmark) ?? "";
  const graph = session.pair[side];
  const alone = data?.comparison === false;
  const shownSide = alone ? t("side.single") : t(`side.${side}`);
  const label = alone ? t("graph.labelSingle", { name }) : t("graph.label", { side: shownSide, name });
  return (
    <section className="pane" aria-label={label}>
      <header className="pane-head">
        <h2 className={`side-tag ${alone ? "single" : side}`}>{shownSide}</h2>
        <span className="pane-name" title={graph?.dump_dir ?? name}>
          {lastParts(name)}
        </span>
        <span className="muted nowrap">{t("graph.nodes", { count: graph?.nodes ?? 0 })}</span>
      </header>
      <div className="pane-body">
        <div className="canvas-frame" ref={frame}>
          {/* The outline is the accessible twin; the canvas takes keys for those who see it. */}
          <canvas
            ref={canvas}
            tabIndex={0}
            // eslint-disable-next-line jsx-a11y/no-interactive-element-to-noninteractive-role
            role="application"
            aria-label={`${label}. ${t("graph.hint")}`}
            data-side={side}
            title={hovered}
          />
        </div>
        <Minimap parts={minimap} label={t("graph.minimap", { side: t(`side.${side}`) })} />
      </div>
    </section>
  );
}

/** The end of a path tells runs apart; the rest is on hover. */
function lastParts(path: string): string {
  const parts = path.split(/[\\/]/).filter(Boolean);
  return parts.slice(-2).join("/");
}
