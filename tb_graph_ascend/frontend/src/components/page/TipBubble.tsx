/* The tip that a long press or the key I asked for, beside what it tells of; read out by screen readers. */

import { useLayoutEffect, useRef } from "react";

import { useTip } from "../../state/tip";

const GAP_PX = 6;
const FINGERTIP_PX = 20;

export function TipBubble() {
  const tip = useTip((state) => state.tip);
  const bubble = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    if (tip && bubble.current) place(bubble.current, tip.at ? around(tip.at) : tip.of.getBoundingClientRect());
  }, [tip]);
  return (
    <div role="status" className={tip === null ? "sr-only" : "tip"} ref={bubble}>
      {tip?.text}
    </div>
  );
}

/** Where a finger hides what is under it. */
function around({ x, y }: { x: number; y: number }): DOMRect {
  return new DOMRect(x - FINGERTIP_PX, y - FINGERTIP_PX, 2 * FINGERTIP_PX, 2 * FINGERTIP_PX);
}

/** Below what it tells of, else above it; inside of the window either way. */
function place(bubble: HTMLElement, { left, top, bottom }: DOMRect): void {
  const { offsetWidth: wide, offsetHeight: high } = bubble;
  const below = bottom + GAP_PX + high <= window.innerHeight;
  bubble.style.left = `${Math.max(GAP_PX, Math.min(left, window.innerWidth - wide - GAP_PX))}px`;
  bubble.style.top = `${Math.max(GAP_PX, below ? bottom + GAP_PX : top - GAP_PX - high)}px`;
}
