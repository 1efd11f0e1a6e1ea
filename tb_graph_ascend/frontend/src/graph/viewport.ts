/* The part of the world that a pane shows: scale and the world point at its top left corner. */

import type { Rect } from "./layout";

export interface Viewport {
  scale: number;
  x: number;
  y: number;
}

export interface Size {
  width: number;
  height: number;
}

export const MIN_SCALE = 0.004;
export const MAX_SCALE = 3;
const MARGIN = 16;
/** Scale from which labels are read with ease. */
const READABLE = 0.75;
const COMFORTABLE = 0.95;

/** The world rectangle that is on screen. */
export function visibleRect(view: Viewport, size: Size): Rect {
  return {
    x: view.x,
    y: view.y,
    width: size.width / view.scale,
    height: size.height / view.scale,
  };
}

/** Show all of a rectangle, never larger than `largest`. */
export function fit(rect: Rect, size: Size, largest = 1): Viewport {
  const scale = Math.min(
    largest,
    (size.width - 2 * MARGIN) / rect.width,
    (size.height - 2 * MARGIN) / rect.height,
  );
  return centred(rect, size, Math.max(MIN_SCALE, scale));
}

/** Zoom by a factor so that the point of the pane stays where it is. */
export function zoomAt(view: Viewport, factor: number, px: number, py: number): Viewport {
  const scale = Math.min(MAX_SCALE, Math.max(MIN_SCALE, view.scale * factor));
  return {
    scale,
    x: view.x + px / view.scale - px / scale,
    y: view.y + py / view.scale - py / scale,
  };
}

/** Move by pixels of the pane. */
export function panBy(view: Viewport, dx: number, dy: number): Viewport {
  return { scale: view.scale, x: view.x + dx / view.scale, y: view.y + dy / view.scale };
}

/** Keep some of the content in view, so that nobody pans into nothing. */
export function confine(view: Viewport, content: Rect, size: Size): Viewport {
  const keep = 60 / view.scale;
  const width = size.width / view.scale;
  const height = size.height / view.scale;
  return {
    scale: view.scale,
    x: Math.min(content.x + content.width - keep, Math.max(content.x + keep - width, view.x)),
    y: Math.min(content.y + content.height - keep, Math.max(content.y + keep - height, view.y)),
  };
}

/** Bring a rectangle to the middle at a scale where it can be read, the content's width kept in view. */
export function reveal(view: Viewport, rect: Rect, content: Rect, size: Size): Viewport {
  const whole = (size.width - 2 * MARGIN) / content.width;
  const readable = Math.min(COMFORTABLE, Math.max(READABLE, whole));
  const scale = view.scale < READABLE ? readable : view.scale;
  const shown = { ...rect, height: Math.min(rect.height, size.height / scale / 2) };
  const middle = centred(shown, size, scale);
  const width = size.width / scale;
  if (content.width <= width) return { ...middle, x: content.x + (content.width - width) / 2 };
  const margin = MARGIN / scale;
  const right = content.x + content.width + margin - width;
  return { ...middle, x: Math.min(right, Math.max(content.x - margin, middle.x)) };
}

/** Whether a rectangle is wholly on screen at a scale where it can be read. */
export function isComfortable(view: Viewport, rect: Rect, size: Size): boolean {
  const shown = visibleRect(view, size);
  return (
    view.scale >= READABLE &&
    rect.x >= shown.x &&
    rect.y >= shown.y &&
    rect.x + Math.min(rect.width, shown.width) <= shown.x + shown.width &&
    rect.y + Math.min(rect.height, shown.height / 2) <= shown.y + shown.height
  );
}

function centred(rect: Rect, size: Size, scale: number): Viewport {
  return {
    scale,
    x: rect.x + rect.width / 2 - size.width / scale / 2,
    y: rect.y + rect.height / 2 - size.height / scale / 2,
  };
}
