/* What part of a graph is in view: pan, zoom, all of it, and what is selected elsewhere. */

import { useCallback, useEffect, useRef } from "react";

import type { Place } from "../graph/boxroutes";
import { useBoxGestures } from "./useBoxGestures";
import type { Laid } from "./useModuleGraph";

/** As small as makes a long module of some hundred calls whole. */
const SMALLEST = 0.05;
const LARGEST = 3;

interface View {
  x: number;
  y: number;
  scale: number;
}

/** Pan and zoom without React: the group is moved, nothing is drawn anew. */
export function useBoxView(
  frame: React.RefObject<HTMLDivElement | null>,
  svg: React.RefObject<SVGSVGElement | null>,
  laid: Laid,
  selected: number | null,
) {
  const group = useRef<SVGGElement>(null);
  /** What is in view, on the small picture of the whole. */
  const pane = useRef<SVGRectElement>(null);
  const view = useRef<View | null>(null);
  const module = useRef<string | null>(null);
  const { width, height } = laid.layout;
  const apply = useCallback((): void => {
    const { x, y, scale } = view.current ?? { x: 0, y: 0, scale: 1 };
    group.current?.setAttribute("transform", `translate(${x} ${y}) scale(${scale})`);
    const box = frame.current;
    if (!box) return;
    const [left, top, wide, high] = [-x / scale, -y / scale, box.clientWidth / scale, box.clientHeight / scale];
    for (const [name, value] of Object.entries({ x: left, y: top, width: wide, height: high })) pane.current?.setAttribute(name, String(value));
    box.dataset.whole = String(left <= 0 && top <= 0 && left + wide >= width && top + high >= height);
  }, [frame, width, height]);
  useEffect(() => {
    const box = frame.current;
    if (!box) return undefined;
    const watch = new ResizeObserver(apply);
    watch.observe(box);
    return () => watch.disconnect();
  }, [frame, apply]);
  useEffect(() => {
    const box = frame.current;
    const shown = `${laid.graph.module.key} ${String(laid.layout.across)}`;
    if (!box || module.current === shown) return;
    // Another module starts whole in width, from its top, or in height, from its left; a box that opens moves nothing.
    module.current = shown;
    view.current = begun(laid.layout, box.clientWidth, box.clientHeight);
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
  const moveBy = useCallback(
    (dx: number, dy: number): void => {
      if (!view.current) return;
      view.current = { ...view.current, x: view.current.x + dx, y: view.current.y + dy };
      apply();
    },
    [apply],
  );
  const pan = useBoxGestures({ moveBy, zoomAt });
  const zoom = useCallback(
    (factor: number): void => {
      const [box, now] = [svg.current, view.current];
      if (!box || !now) return;
      const place = selected === null ? undefined : placeOf(laid, selected);
      const kept = place && middleOf(now, place);
      // What is selected stays where it is as long as it is in view.
      const isSeen = kept && kept.x >= 0 && kept.y >= 0 && kept.x <= box.clientWidth && kept.y <= box.clientHeight;
      const { x, y } = isSeen ? kept : { x: box.clientWidth / 2, y: box.clientHeight / 2 };
      zoomAt(factor, x, y);
    },
    [svg, zoomAt, laid, selected],
  );
  const centre = useCallback(
    (x: number, y: number): void => {
      const box = frame.current;
      if (!box || !view.current) return;
      const { scale } = view.current;
      view.current = { scale, x: box.clientWidth / 2 - x * scale, y: box.clientHeight / 2 - y * scale };
      apply();
    },
    [frame, apply],
  );
  const fit = useCallback((): void => {
    const box = frame.current;
    if (!box) return;
    const scale = Math.max(SMALLEST, Math.min(1, box.clientWidth / (width + 40), box.clientHeight / (height + 40)));
    view.current = { scale, x: (box.clientWidth - width * scale) / 2, y: Math.max(8, (box.clientHeight - height * scale) / 2) };
    apply();
  }, [frame, width, height, apply]);
  return { moved: group, pane, centre, zoom, fit, pan };
}

/** How a graph starts. */
function begun({ width, height, across }: Laid["layout"], wide: number, high: number): View {
  const scale = Math.min(1, Math.max(0.5, across ? high / (height + 24) : wide / (width + 24)));
  const [x, y] = [Math.max(12, (wide - width * scale) / 2), Math.max(8, (high - height * scale) / 2)];
  return across ? { scale, x: 12, y } : { scale, x, y: 8 };
}

function placeOf({ graph, layout }: Laid, selected: number): Place | undefined {
  const box = graph.boxes.find(({ row }) => row.problem?.id === selected || row.benchmark?.id === selected);
  return box && layout.places.get(box.place);
}

/** Where in the frame the middle of a box is. */
function middleOf({ x, y, scale }: View, place: Place): { x: number; y: number } {
  return { x: x + (place.x + place.width / 2) * scale, y: y + (place.y + place.height / 2) * scale };
}

/** The view with a box in it: moved to its middle where it was not in view, else as it was. */
function shown(view: View, place: Place, width: number, height: number): View {
  const [left, top] = [view.x + place.x * view.scale, view.y + place.y * view.scale];
  const [wide, high] = [place.width * view.scale, place.height * view.scale];
  const inside = left >= 0 && top >= 0 && left + wide <= width && top + Math.min(high, height) <= height;
  if (inside) return view;
  return { ...view, x: view.x + width / 2 - left - wide / 2, y: view.y + (height - Math.min(high, height - 16)) / 2 - top };
}

