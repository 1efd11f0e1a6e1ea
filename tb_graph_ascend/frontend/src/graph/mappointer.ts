/* Dragging a row on a canvas of rows: by mouse after some pixels, by touch after a long press. */

import type { DiffCanvas, DiffHit } from "./diffcanvas";
import { FINGER_PX, LONG_PRESS_MS } from "./touch";

export interface MapGestures {
  /** Whether the row under the pointer can be dragged. */
  holds: (hit: DiffHit) => boolean;
  began: (hit: DiffHit) => void;
  /** The pointer in the window, and the row that it is over. */
  moved: (x: number, y: number, hit: DiffHit | null) => void;
  dropped: (hit: DiffHit | null) => void;
  cancelled: () => void;
}

const MOUSE_PX = 5;
/** So near to an edge, and so fast, the rows go on under what is dragged. */
const EDGE_PX = 36;
const EDGE_STEP = 8;

interface Press {
  hit: DiffHit;
  event: PointerEvent;
  timer: number;
}

/** Listen on the canvas until the returned function is called. */
export function attachMapPointer(view: DiffCanvas, gestures: MapGestures): () => void {
  const drag = new Drag(view, gestures);
  return () => drag.stop();
}

class Drag {
  private press: Press | null = null;
  private dragging = false;
  /** The click that ends a drag means nothing. */
  private clickEnds = false;
  private last: PointerEvent | null = null;
  private frame = 0;
  private readonly listening = new AbortController();

  constructor(
    private readonly view: DiffCanvas,
    private readonly gestures: MapGestures,
  ) {
    const { signal } = this.listening;
    const { canvas } = view;
    canvas.addEventListener("pointerdown", (event) => this.down(event), { signal });
    canvas.addEventListener("pointermove", (event) => this.move(event), { signal });
    canvas.addEventListener("pointerup", () => this.up(), { signal });
    canvas.addEventListener("pointercancel", () => this.cancel(), { signal });
    canvas.addEventListener("touchmove", (event) => this.dragging && event.preventDefault(), { signal, passive: false });
    canvas.addEventListener("contextmenu", (event) => this.pressedByFinger() && event.preventDefault(), { signal });
    canvas.addEventListener("click", (event) => this.click(event), { signal, capture: true });
    window.addEventListener("keydown", (event) => this.key(event), { signal, capture: true });
    window.addEventListener("blur", () => this.cancel(), { signal });
  }

  stop(): void {
    this.cancel();
    this.listening.abort();
  }

  private down(event: PointerEvent): void {
    this.cancel();
    this.clickEnds = false;
    const hit = event.button === 0 ? this.hitOf(event) : null;
    if (!hit || hit.chevron || !this.gestures.holds(hit)) return;
    const byFinger = event.pointerType === "touch";
    const timer = byFinger ? window.setTimeout(() => this.begin(), LONG_PRESS_MS) : 0;
    this.press = { hit, event, timer };
  }

  private move(event: PointerEvent): void {
    if (this.dragging) {
      this.last = event;
      this.tell();
      this.frame ||= requestAnimationFrame(() => this.scroll());
    } else if (this.press) {
      const { event: from, timer } = this.press;
      const far = Math.hypot(event.clientX - from.clientX, event.clientY - from.clientY);
      if (timer === 0 && far > MOUSE_PX) this.begin();
      else if (timer !== 0 && far > FINGER_PX) this.cancel();
    }
  }

  private begin(): void {
    if (!this.press) return;
    const { event, hit } = this.press;
    this.dragging = true;
    this.clickEnds = true;
    this.last = event;
    this.view.canvas.setPointerCapture(event.pointerId);
    this.gestures.began(hit);
    this.tell();
  }

  private up(): void {
    if (!this.dragging) {
      this.forget();
      return;
    }
    const hit = this.last && this.hitOf(this.last);
    this.forget();
    this.gestures.dropped(hit);
  }

  private cancel(): void {
    const was = this.dragging;
    this.forget();
    if (was) this.gestures.cancelled();
  }

  private forget(): void {
    window.clearTimeout(this.press?.timer);
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    this.press = null;
    this.dragging = false;
    this.last = null;
  }

  private click(event: MouseEvent): void {
    if (!this.clickEnds) return;
    this.clickEnds = false;
    event.stopImmediatePropagation();
  }

  private key(event: KeyboardEvent): void {
    if (event.key !== "Escape" || !this.dragging) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    this.cancel();
  }

  private pressedByFinger(): boolean {
    return this.press !== null && this.press.timer !== 0;
  }

  private tell(): void {
    if (!this.last) return;
    this.view.canvas.style.cursor = "grabbing";
    this.gestures.moved(this.last.clientX, this.last.clientY, this.hitOf(this.last));
  }

  /** Near an edge the rows go on, for as long as the pointer stays there. */
  private scroll(): void {
    this.frame = 0;
    if (!this.last) return;
    const { top, height } = this.view.canvas.getBoundingClientRect();
    const y = this.last.clientY - top;
    const step = y < EDGE_PX ? -EDGE_STEP : y > height - EDGE_PX ? EDGE_STEP : 0;
    if (step === 0) return;
    this.view.setTop(Math.max(0, this.view.top + step));
    this.tell();
    this.frame = requestAnimationFrame(() => this.scroll());
  }

  private hitOf({ clientX, clientY }: PointerEvent): DiffHit | null {
    const { left, top, width, height } = this.view.canvas.getBoundingClientRect();
    const [x, y] = [clientX - left, clientY - top];
    return x < 0 || y < 0 || x >= width || y >= height ? null : this.view.hitAt(x, y);
  }
}
