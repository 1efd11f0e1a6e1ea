/* Moves a graph by pointers: one drags it, two fingers also pinch it, the wheel scrolls and zooms. */

import { type PointerEvent, type WheelEvent, useMemo, useRef } from "react";

/** Less is no drag, for a click on a box shakes. */
const DRAG_PX = 4;

interface Point {
  x: number;
  y: number;
}

/** What gestures do: move by pixels, and zoom around a point of the frame. */
export interface Moves {
  moveBy: (dx: number, dy: number) => void;
  zoomAt: (factor: number, x: number, y: number) => void;
}

/** Handlers for the frame of a graph. */
export function useBoxGestures({ moveBy, zoomAt }: Moves) {
  /** Where each pointer that is down was last; a third finger does nothing. */
  const down = useRef(new Map<number, Point>());
  return useMemo(() => {
    const lifted = ({ pointerId }: PointerEvent<HTMLDivElement>): void => void down.current.delete(pointerId);
    return {
      onPointerDown: (event: PointerEvent<HTMLDivElement>): void => {
        if (event.isPrimary) down.current.clear();
        if (event.button === 0 && down.current.size < 2) down.current.set(event.pointerId, { x: event.clientX, y: event.clientY });
      },
      onPointerMove: (event: PointerEvent<HTMLDivElement>): void => {
        const before = pinchOf([...down.current.values()]);
        const from = down.current.get(event.pointerId);
        if (!before || !from) return;
        if (!event.currentTarget.hasPointerCapture(event.pointerId)) {
          if (down.current.size === 1 && Math.hypot(event.clientX - from.x, event.clientY - from.y) < DRAG_PX) return;
          event.currentTarget.setPointerCapture(event.pointerId);
        }
        down.current.set(event.pointerId, { x: event.clientX, y: event.clientY });
        const after = pinchOf([...down.current.values()]) ?? before;
        const { left, top } = event.currentTarget.getBoundingClientRect();
        moveBy(after.x - before.x, after.y - before.y);
        if (before.apart > 0 && after.apart > 0) zoomAt(after.apart / before.apart, after.x - left, after.y - top);
      },
      onPointerUp: lifted,
      onPointerCancel: lifted,
      onWheel: (event: WheelEvent<HTMLDivElement>): void => {
        const { left, top } = event.currentTarget.getBoundingClientRect();
        if (event.ctrlKey || event.metaKey) zoomAt(Math.exp(-event.deltaY / 300), event.clientX - left, event.clientY - top);
        else moveBy(-event.deltaX, -event.deltaY);
      },
    };
  }, [moveBy, zoomAt]);
}

/** The middle of one or two pointers and how far they are apart, 0 of one. */
function pinchOf([one, two]: readonly Point[]): (Point & { apart: number }) | null {
  if (!one) return null;
  if (!two) return { ...one, apart: 0 };
  return { x: (one.x + two.x) / 2, y: (one.y + two.y) / 2, apart: Math.hypot(one.x - two.x, one.y - two.y) };
}
