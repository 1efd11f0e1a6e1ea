/* The open module as boxes and edges: pan, zoom, select, open in place, save as a picture. */

import { ArrowUp, Download, Info, Maximize, Rows3, ZoomIn, ZoomOut } from "lucide-react";
import { type KeyboardEvent, type PointerEvent, type WheelEvent, useCallback, useEffect, useRef } from "react";
import { useTranslation } from "react-i18next";

import { useDiffPalette } from "../../hooks/useDiffPalette";
import { type Laid, useModuleGraph } from "../../hooks/useModuleGraph";
import { boxAt } from "../../graph/boxkeys";
import type { Place } from "../../graph/layered";
import { nodeAhead, selectNode } from "../../state/actions";
import { showModule, showRows, toggleBox, useBoxes } from "../../state/boxes";
import { savePng, saveSvg } from "../../state/boxpicture";
import type { GraphSession } from "../../state/session";
import { useApp } from "../../state/store";
import { FailureNotice } from "../parts/FailureNotice";
import { Popup } from "../parts/Popup";
import { BoxDrawing } from "./BoxDrawing";
import { BoxKeys } from "./BoxKeys";

const ZOOM = 1.2;
const SMALLEST = 0.15;
const LARGEST = 3;

interface View {
  x: number;
  y: number;
  scale: number;
}

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
  const recolour = useApp((state) => state.recolour);
  const frame = useRef<HTMLDivElement>(null);
  const svg = useRef<SVGSVGElement>(null);
  const { moved, zoom, fit, pan } = useView(frame, svg, laid, selected);
  useEffect(() => {
    useBoxes.setState({ view: { zoom, fit } });
    return () => useBoxes.setState({ view: null });
  }, [zoom, fit]);
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
        {graph.left_out > 0 && <span className="muted">{t("boxes.leftOut", { count: graph.left_out })}</span>}
        {graph.unplaced > 0 && (
          <span className="muted" title={t("boxes.unplacedHelp")}>
            {t("boxes.unplaced", { count: graph.unplaced })}
          </span>
        )}
        <span className="spacer" />
        <Popup label={t("boxes.legend")} className="button small" face={<><Info aria-hidden size={14} /> {t("boxes.legend")}</>}>
          <BoxKeys comparison={session.comparison} />
        </Popup>
        <Tool label={t("boxes.smaller")} icon={ZoomOut} run={() => zoom(1 / ZOOM)} />
        <Tool label={t("boxes.larger")} icon={ZoomIn} run={() => zoom(ZOOM)} />
        <Tool label={t("boxes.fit")} icon={Maximize} run={fit} />
        <button type="button" className="button small" onClick={() => svg.current && saveSvg(svg.current, laid, palette.canvas)}>
          <Download aria-hidden size={14} /> SVG
        </button>
        <button type="button" className="button small" onClick={() => svg.current && void savePng(svg.current, laid, palette.canvas)}>
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
            <BoxDrawing laid={laid} comparison={session.comparison} palette={palette} recolour={recolour} selected={selected} />
          </g>
        </svg>
      </div>
    </section>
  );
}

/** Pan and zoom without React: the group is moved, nothing is drawn anew. */
function useView(
  frame: React.RefObject<HTMLDivElement | null>,
  svg: React.RefObject<SVGSVGElement | null>,
  laid: Laid,
  selected: number | null,
) {
  const group = useRef<SVGGElement>(null);
  const view = useRef<View | null>(null);
  const module = useRef<number | null>(null);
  const apply = useCallback((): void => {
    const { x, y, scale } = view.current ?? { x: 0, y: 0, scale: 1 };
    group.current?.setAttribute("transform", `translate(${x} ${y}) scale(${scale})`);
  }, []);
  useEffect(() => {
    const box = frame.current;
    if (!box || module.current === laid.graph.module.key) return;
    // Another module starts whole in width, from its top; a box that opens moves nothing.
    module.current = laid.graph.module.key;
    const scale = Math.min(1, Math.max(0.5, box.clientWidth / (laid.layout.width + 24)));
    view.current = { scale, x: Math.max(12, (box.clientWidth - laid.layout.width * scale) / 2), y: 8 };
    apply();
  }, [frame, laid, apply]);
  useEffect(() => {
    const box = frame.current;
    const place = selected === null ? undefined : placeOf(laid, selected);
    if (!box || !place || !view.current) return;
    view.current = shown(view.current, place, box.clientWidth, box.clientHeight);
    apply();
  }, [frame, laid, selected, apply]);
  const zoomAt = useCallback(
    (factor: number, x: number, y: number): void => {
      const now = view.current;
      if (!now) return;
      const scale = Math.min(LARGEST, Math.max(SMALLEST, now.scale * factor));
      const by = scale / now.scale;
      view.current = { scale, x: x - (x - now.x) * by, y: y - (y - now.y) * by };
      apply();
    },
    [apply],
  );
  const drag = useRef<{ x: number; y: number; pointer: number } | null>(null);
  const pan = {
    onPointerDown: (event: PointerEvent<HTMLDivElement>): void => {
      if (event.button === 0) drag.current = { x: event.clientX, y: event.clientY, pointer: event.pointerId };
    },
    onPointerMove: (event: PointerEvent<HTMLDivElement>): void => {
      const from = drag.current;
      if (!from || !view.current) return;
      const [dx, dy] = [event.clientX - from.x, event.clientY - from.y];
      if (!event.currentTarget.hasPointerCapture(from.pointer)) {
        if (Math.hypot(dx, dy) < 4) return;
        event.currentTarget.setPointerCapture(from.pointer);
      }
      view.current = { ...view.current, x: view.current.x + dx, y: view.current.y + dy };
      drag.current = { ...from, x: event.clientX, y: event.clientY };
      apply();
    },
    onPointerUp: (): void => {
      drag.current = null;
    },
    onWheel: (event: WheelEvent<HTMLDivElement>): void => {
      if (!view.current) return;
      const { left, top } = event.currentTarget.getBoundingClientRect();
      if (event.ctrlKey || event.metaKey) zoomAt(Math.exp(-event.deltaY / 300), event.clientX - left, event.clientY - top);
      else {
        view.current = { ...view.current, x: view.current.x - event.deltaX, y: view.current.y - event.deltaY };
        apply();
      }
    },
  };
  const zoom = useCallback(
    (factor: number): void => {
      const box = svg.current;
      if (box) zoomAt(factor, box.clientWidth / 2, box.clientHeight / 2);
    },
    [svg, zoomAt],
  );
  const fit = useCallback((): void => {
    const box = frame.current;
    if (!box) return;
    const { width, height } = laid.layout;
    const scale = Math.max(SMALLEST, Math.min(1, box.clientWidth / (width + 40), box.clientHeight / (height + 40)));
    view.current = { scale, x: (box.clientWidth - width * scale) / 2, y: Math.max(8, (box.clientHeight - height * scale) / 2) };
    apply();
  }, [frame, laid, apply]);
  return { moved: group, zoom, fit, pan };
}

function placeOf({ graph, layout }: Laid, selected: number): Place | undefined {
  const box = graph.boxes.find(({ row }) => row.problem?.id === selected || row.benchmark?.id === selected);
  return box && layout.places.get(box.place);
}

/** The view with a box in it: moved to its middle where it was not in view, else as it was. */
function shown(view: View, place: Place, width: number, height: number): View {
  const [left, top] = [view.x + place.x * view.scale, view.y + place.y * view.scale];
  const [wide, high] = [place.width * view.scale, place.height * view.scale];
  const inside = left >= 0 && top >= 0 && left + wide <= width && top + Math.min(high, height) <= height;
  if (inside) return view;
  return { ...view, x: view.x + width / 2 - left - wide / 2, y: view.y + (height - Math.min(high, height - 16)) / 2 - top };
}

function Tool({ label, icon: Icon, run }: { label: string; icon: typeof ZoomIn; run: () => void }) {
  return (
    <button type="button" className="icon" aria-label={label} title={label} onClick={run}>
      <Icon aria-hidden size={16} />
    </button>
  );
}
