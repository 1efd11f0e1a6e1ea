/* The open module as boxes and edges: pan, zoom, select, open in place, save as a picture. */

import { ArrowDown, ArrowRight, ArrowUp, Download, Info, Maximize, Rows3, ZoomIn, ZoomOut } from "lucide-react";
import { type KeyboardEvent, useEffect, useRef, useState } from "react";
import { flushSync } from "react-dom";
import { useTranslation } from "react-i18next";

import { useBoxView } from "../../hooks/useBoxView";
import { useDatabase } from "../../hooks/useDatabase";
import { useDiffPalette } from "../../hooks/useDiffPalette";
import { stemOf } from "../../hooks/useHandOn";
import { useKeptFocus } from "../../hooks/useKeptFocus";
import { type Laid, useModuleGraph } from "../../hooks/useModuleGraph";
import { boxAt } from "../../graph/boxkeys";
import { selectNode } from "../../state/actions";
import { nodeAhead } from "../../state/ahead";
import { showModule, showRows, toggleBox, turnBoxes, useBoxes } from "../../state/boxes";
import { savePng, saveSvg } from "../../state/boxpicture";
import type { GraphSession } from "../../state/session";
import { useApp } from "../../state/store";
import { FailureNotice } from "../parts/FailureNotice";
import { Popup } from "../parts/Popup";
import { BoxDrawing } from "./BoxDrawing";
import { BoxKeys } from "./BoxKeys";
import { BoxMap } from "./BoxMap";

const ZOOM = 1.2;

export function BoxPane({ session }: { session: GraphSession }) {
  const { t } = useTranslation();
  const { laid, busy, error, retry } = useModuleGraph(session);
  const selected = useApp((state) => state.selected);
  useFollow(laid, selected);
  if (error) return <FailureNotice error={error} retry={() => void retry()} />;
  if (!laid) return <p className="message">{t("loading")}</p>;
  return <Canvas laid={laid} busy={busy} session={session} selected={selected} />;
}

/** What is selected elsewhere is shown: its module takes the place of the one on screen. */
function useFollow(laid: Laid | null, selected: number | null): void {
  const before = useRef(selected);
  useEffect(() => {
    if (!laid || selected === null || before.current === selected) return;
    before.current = selected;
    const { module, boxes } = laid.graph;
    const rows = [module, ...boxes.map(({ row }) => row)];
    if (!rows.some((row) => row.problem?.id === selected || row.benchmark?.id === selected)) showModule(selected);
  }, [laid, selected]);
}

interface CanvasProps {
  laid: Laid;
  /** Another picture is on its way. */
  busy: boolean;
  session: GraphSession;
  selected: number | null;
}

function Canvas({ laid, busy, session, selected }: CanvasProps) {
  const { t } = useTranslation();
  const palette = useDiffPalette();
  const stem = stemOf(useDatabase().data?.path ?? "graph");
  const recolour = useApp((state) => state.recolour);
  const [saving, setSaving] = useState(false);
  /** A picture is of the graph, not of what somebody has selected in it. */
  const unselected = (save: (drawn: SVGSVGElement) => void): void => {
    flushSync(() => setSaving(true));
    if (svg.current) save(svg.current);
    setSaving(false);
  };
  const frame = useRef<HTMLDivElement>(null);
  const svg = useRef<SVGSVGElement>(null);
  const { moved, pane, centre, zoom, fit, pan } = useBoxView(frame, svg, laid, selected);
  useEffect(() => {
    useBoxes.setState({ view: { zoom, fit } });
    return () => useBoxes.setState({ view: null });
  }, [zoom, fit]);
  useKeptFocus(frame);
  const { graph } = laid;
  const side = graph.module.problem ?? graph.module.benchmark;
  const title = side?.name ?? "";
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const ahead = nodeAhead();
    const here = graph.boxes.find(({ row }) => row.problem?.id === ahead || row.benchmark?.id === ahead);
    if ((event.key === "Enter" || event.key === " ") && here && here.row.children > 0) toggleBox(here.row.key);
    else {
      const next = boxAt(laid, here?.place ?? null, event.key);
      const node = next?.row.problem ?? next?.row.benchmark;
      if (!node) return;
      void selectNode(node.id, { keepView: true });
    }
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <section className="boxes" aria-label={t("boxes.label", { name: title })}>
      <div className="boxes-tools" role="toolbar" aria-label={t("boxes.tools")}>
        <button type="button" className="button small" onClick={showRows} title={t("boxes.rowsHelp")}>
          <Rows3 aria-hidden size={14} /> {t("boxes.rows")}
        </button>
        {graph.above !== null && (
          <button type="button" className="button small" onClick={() => graph.above !== null && showModule(graph.above)}>
            <ArrowUp aria-hidden size={14} /> {t("boxes.above")}
          </button>
        )}
        <strong className="boxes-title">{side?.title}</strong>
        {graph.left_out > 0 && (
          <span className="muted" title={t("boxes.leftOutHelp", { count: graph.boxes.length })}>
            {t("boxes.leftOut", { count: graph.left_out })}
          </span>
        )}
        {graph.unplaced > 0 && (
          <span className="muted" title={t("boxes.unplacedHelp")}>
            {t("boxes.unplaced", { count: graph.unplaced })}
          </span>
        )}
        {graph.gradients > 0 && (
          <span className="muted" title={[t("boxes.gradientsHelp"), ...graph.gradient_names].join("\n")}>
            {t("boxes.gradients", { count: graph.gradients })}
            {graph.gradient_names[0] !== undefined && `: ${graph.gradient_names[0]}${graph.gradients > 1 ? ", …" : ""}`}
          </span>
        )}
        <span className="spacer" />
        <Popup label={t("boxes.legend")} className="button small" face={<><Info aria-hidden size={14} /> {t("boxes.legend")}</>}>
          <BoxKeys comparison={session.comparison} />
        </Popup>
        <Tool label={t(laid.layout.across ? "boxes.down" : "boxes.across")} icon={laid.layout.across ? ArrowDown : ArrowRight} run={turnBoxes} />
        <Tool label={t("boxes.smaller")} icon={ZoomOut} run={() => zoom(1 / ZOOM)} />
        <Tool label={t("boxes.larger")} icon={ZoomIn} run={() => zoom(ZOOM)} />
        <Tool label={t("boxes.fit")} icon={Maximize} run={fit} />
        <button type="button" className="button small" onClick={() => unselected((drawn) => saveSvg(drawn, laid, palette.canvas, stem))}>
          <Download aria-hidden size={14} /> SVG
        </button>
        <button type="button" className="button small" onClick={() => unselected((drawn) => void savePng(drawn, laid, palette.canvas, stem))}>
          <Download aria-hidden size={14} /> PNG
        </button>
      </div>
      {/* Keys move the selection in the picture, as they do in the rows. */}
      {/* eslint-disable-next-line jsx-a11y/no-noninteractive-element-interactions */}
      <div
        className="boxes-frame"
        ref={frame}
        role="application"
        aria-busy={busy}
        aria-label={`${t("boxes.label", { name: title })}. ${t("boxes.hint")}`}
        // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex
        tabIndex={0}
        onKeyDown={onKeyDown}
        {...pan}
      >
        <svg ref={svg} role="presentation">
          <g ref={moved}>
            <BoxDrawing laid={laid} comparison={session.comparison} palette={palette} recolour={recolour} selected={saving ? null : selected} />
          </g>
        </svg>
        <BoxMap laid={laid} pane={pane} centre={centre} palette={palette} recolour={recolour} />
      </div>
    </section>
  );
}

function Tool({ label, icon: Icon, run }: { label: string; icon: typeof ZoomIn; run: () => void }) {
  return (
    <button type="button" className="icon" aria-label={label} title={label} onClick={run}>
      <Icon aria-hidden size={16} />
    </button>
  );
}
