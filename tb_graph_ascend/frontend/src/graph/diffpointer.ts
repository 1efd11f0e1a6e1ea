/* Pointer and wheel on the list: a click selects or opens, wheel with Ctrl makes rows higher. */

import type { DiffCanvas, DiffHit } from "./diffcanvas";

export interface DiffGestures {
  clicked: (hit: DiffHit) => void;
  doubleClicked: (hit: DiffHit) => void;
  hovered: (hit: DiffHit | null) => void;
}

const LINE = 16;

/** Listen on the canvas until the returned function is called. */
export function attachDiffPointer(view: DiffCanvas, gestures: DiffGestures): () => void {
  const stop = new AbortController();
  const { signal } = stop;
  const { canvas } = view;
  const hitOf = (event: MouseEvent): DiffHit | null => view.hitAt(event.offsetX, event.offsetY);
  canvas.addEventListener(
    "wheel",
    (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      const unit = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? LINE : 1;
      view.zoom(Math.exp((-event.deltaY * unit) / 300), event.offsetY);
    },
    { signal, passive: false },
  );
  canvas.addEventListener("pointermove", (event) => {
    view.hover(event.offsetY);
    const hit = hitOf(event);
    canvas.style.cursor = hit?.chevron ? "pointer" : "default";
    gestures.hovered(hit);
  }, { signal });
  // A finger comes down without having moved there.
  canvas.addEventListener("pointerdown", (event) => gestures.hovered(hitOf(event)), { signal });
  canvas.addEventListener("pointerleave", () => {
    view.hover(null);
    gestures.hovered(null);
  }, { signal });
  canvas.addEventListener("click", (event) => {
    const hit = hitOf(event);
    if (hit) gestures.clicked(hit);
  }, { signal });
  canvas.addEventListener("dblclick", (event) => {
    const hit = hitOf(event);
    if (hit && !hit.chevron) gestures.doubleClicked(hit);
  }, { signal });
  return () => stop.abort();
}
