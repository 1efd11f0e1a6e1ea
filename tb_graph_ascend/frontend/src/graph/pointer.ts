/* Pointer, wheel and pinch on a pane: drag pans, wheel scrolls, wheel with Ctrl zooms. */

import type { GraphView } from "./view";
import { panBy, zoomAt } from "./viewport";

/** Movement in pixels up to which a press is still a click. */
const CLICK_SLACK = 4;
const LINE = 16;

interface Touch {
  x: number;
  y: number;
}

/** Listen on the view's canvas until the returned function is called. */
export function attachPointer(view: GraphView): () => void {
  const stop = new AbortController();
  const { signal } = stop;
  const { canvas } = view;
  const touches = new Map<number, Touch>();
  let moved = 0;

  canvas.addEventListener("wheel", (event) => onWheel(view, event), { signal, passive: false });
  canvas.addEventListener(
    "pointerdown",
    (event) => {
      canvas.setPointerCapture(event.pointerId);
      touches.set(event.pointerId, { x: event.offsetX, y: event.offsetY });
      moved = touches.size > 1 ? CLICK_SLACK + 1 : 0;
    },
    { signal },
  );
  canvas.addEventListener(
    "pointermove",
    (event) => {
      const last = touches.get(event.pointerId);
      if (!last) {
        view.events.hovered(view.hitAt(event.offsetX, event.offsetY));
        return;
      }
      const now = { x: event.offsetX, y: event.offsetY };
      moved += Math.abs(now.x - last.x) + Math.abs(now.y - last.y);
      if (touches.size > 1) pinch(view, touches, event.pointerId, now);
      else if (moved > CLICK_SLACK) view.move(panBy(view.view, last.x - now.x, last.y - now.y));
      touches.set(event.pointerId, now);
    },
    { signal },
  );
  const end = (event: PointerEvent): void => {
    const click = touches.delete(event.pointerId) && moved <= CLICK_SLACK;
    if (click && event.type === "pointerup" && event.button === 0) {
      view.events.clicked(view.hitAt(event.offsetX, event.offsetY));
    }
  };
  canvas.addEventListener("pointerup", end, { signal });
  canvas.addEventListener("pointercancel", end, { signal });
  canvas.addEventListener("pointerleave", () => view.events.hovered(null), { signal });
  canvas.addEventListener(
    "dblclick",
    (event) => {
      const hit = view.hitAt(event.offsetX, event.offsetY);
      if (hit) view.events.doubleClicked(hit);
    },
    { signal },
  );
  return () => stop.abort();
}

function onWheel(view: GraphView, event: WheelEvent): void {
  event.preventDefault();
  const unit = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? LINE : 1;
  if (event.ctrlKey || event.metaKey) {
    const factor = Math.exp((-event.deltaY * unit) / 300);
    view.move(zoomAt(view.view, factor, event.offsetX, event.offsetY));
  } else {
    const sideways = event.shiftKey && event.deltaX === 0;
    const dx = (sideways ? event.deltaY : event.deltaX) * unit;
    view.move(panBy(view.view, dx, sideways ? 0 : event.deltaY * unit));
  }
}

function pinch(view: GraphView, touches: Map<number, Touch>, id: number, now: Touch): void {
  const other = [...touches].find(([key]) => key !== id)?.[1];
  const last = touches.get(id);
  if (!other || !last) return;
  const before = Math.hypot(last.x - other.x, last.y - other.y);
  const after = Math.hypot(now.x - other.x, now.y - other.y);
  if (before > 0) view.move(zoomAt(view.view, after / before, other.x, other.y));
}
