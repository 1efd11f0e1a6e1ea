/* Shows tips to fingers, which cannot rest above something; hides what was shown once it no longer fits. */

import { useEffect } from "react";

import { tipOf } from "../graph/tips";
import { FINGER_PX, LONG_PRESS_MS } from "../graph/touch";
import { useTip } from "../state/tip";

/** What a long press can take hold of goes before what it can ask of. */
const AFTER_HOLD_MS = 50;

export function useTips(): void {
  useEffect(() => {
    const fingers = new Fingers();
    return () => fingers.stop();
  }, []);
}

/** Invariant: a timer runs only while one finger rests where it came down. */
class Fingers {
  private timer = 0;
  private from = { x: 0, y: 0 };
  /** A tip was shown by this press: what else a long press does, a click, a focus or a menu, is left out. */
  private ended = false;
  private readonly listening = new AbortController();

  constructor() {
    const at = { signal: this.listening.signal, capture: true };
    document.addEventListener("pointerdown", (event) => this.down(event), at);
    document.addEventListener("pointermove", (event) => this.move(event), at);
    document.addEventListener("pointerup", () => this.lift(), at);
    document.addEventListener("pointercancel", () => this.lift(), at);
    for (const kind of ["touchend", "contextmenu"]) {
      document.addEventListener(kind, (event) => this.ended && event.preventDefault(), { ...at, passive: false });
    }
    document.addEventListener("keydown", (event) => this.key(event), at);
    document.addEventListener("focusin", hide, at);
    document.addEventListener("scroll", hide, at);
    window.addEventListener("resize", hide, at);
  }

  stop(): void {
    this.lift();
    this.listening.abort();
  }

  private down(event: PointerEvent): void {
    this.lift();
    this.ended = false;
    hide();
    if (event.pointerType !== "touch" || !event.isPrimary || !(event.target instanceof Element)) return;
    const { target } = event;
    this.from = { x: event.clientX, y: event.clientY };
    this.timer = window.setTimeout(() => this.rested(target), LONG_PRESS_MS + AFTER_HOLD_MS);
  }

  private rested(target: Element): void {
    // The press has taken hold of a row instead.
    const tip = document.querySelector(".map-ghost") === null ? tipOf(target) : null;
    this.ended = tip !== null;
    useTip.getState().show(tip && target.matches("canvas") ? { ...tip, at: this.from } : tip);
  }

  /** A finger that moves on drags or scrolls, and what a shown tip tells of goes with it. */
  private move({ clientX, clientY, pointerType }: PointerEvent): void {
    if (pointerType !== "touch" || Math.hypot(clientX - this.from.x, clientY - this.from.y) <= FINGER_PX) return;
    this.lift();
    hide();
  }

  private lift(): void {
    window.clearTimeout(this.timer);
    this.timer = 0;
  }

  private key(event: KeyboardEvent): void {
    if (event.key !== "Escape" || useTip.getState().tip === null) return;
    hide();
    event.preventDefault();
    event.stopImmediatePropagation();
  }
}

function hide(): void {
  if (useTip.getState().tip !== null) useTip.getState().show(null);
}
