/* Draws a pane's minimap and moves the pane when it is dragged. */

import { type PointerEvent, type RefObject, useCallback, useRef } from "react";

import type { Recolour } from "../graph/appearance";
import type { Layout } from "../graph/layout";
import { paintMinimap, stretch, unstretch } from "../graph/minimap";
import type { Palette } from "../graph/paint";
import type { GraphView } from "../graph/view";
import { type Size, type Viewport, visibleRect } from "../graph/viewport";

export interface MinimapParts {
  canvas: RefObject<HTMLCanvasElement | null>;
  lens: RefObject<HTMLDivElement | null>;
  frame: RefObject<HTMLDivElement | null>;
  onPointer: (event: PointerEvent<HTMLDivElement>) => void;
}

export interface MinimapLook {
  palette: Palette;
  recolour: Recolour;
  comparison: boolean;
}

/** Wait between drawings of the strip; its frame follows at once. */
const REDRAW_MS = 120;

export function useMinimap(view: RefObject<GraphView | null>) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const lens = useRef<HTMLDivElement>(null);
  const frame = useRef<HTMLDivElement>(null);
  const drawn = useRef({ timer: 0, key: "" });

  const onPointer = useCallback(
    (event: PointerEvent<HTMLDivElement>) => {
      if ((event.buttons & 1) === 0 || !view.current || !frame.current) return;
      const box = frame.current.getBoundingClientRect();
      const { layout, view: shown, size } = view.current;
      const middle = unstretch(event.clientY - box.top, layout.root, box);
      view.current.move({ ...shown, y: middle - size.height / shown.scale / 2 });
    },
    [view],
  );

  /** Called after each painting of the pane. */
  const update = useCallback(
    (shown: Viewport, layout: Layout, size: Size, look: MinimapLook, version: number) => {
      const box = frame.current;
      if (!box || !view.current) return;
      const strip = { width: box.clientWidth, height: box.clientHeight };
      moveLens(lens.current, stretch(visibleRect(shown, size), layout.root, strip), strip);
      const key = [version, look.recolour, look.palette.canvas, strip.height].join();
      if (key === drawn.current.key) return;
      drawn.current.key = key;
      window.clearTimeout(drawn.current.timer);
      const { tree } = view.current;
      drawn.current.timer = window.setTimeout(() => {
        draw(canvas.current, strip, { tree, layout, ...look });
      }, REDRAW_MS);
    },
    [view],
  );
  return { parts: { canvas, lens, frame, onPointer }, update };
}

function moveLens(
  lens: HTMLDivElement | null,
  place: { y: number; height: number },
  strip: Size,
): void {
  if (!lens) return;
  const top = Math.max(0, Math.min(strip.height - 4, place.y));
  const bottom = Math.max(top + 4, Math.min(strip.height, place.y + place.height));
  lens.style.transform = `translateY(${top}px)`;
  lens.style.height = `${bottom - top}px`;
}

function draw(
  canvas: HTMLCanvasElement | null,
  size: Size,
  scene: Omit<Parameters<typeof paintMinimap>[1], "size" | "ratio">,
): void {
  const context = canvas?.getContext("2d");
  if (!canvas || !context || size.width === 0) return;
  const ratio = window.devicePixelRatio || 1;
  canvas.width = size.width * ratio;
  canvas.height = size.height * ratio;
  paintMinimap(context, { ...scene, size, ratio });
}
