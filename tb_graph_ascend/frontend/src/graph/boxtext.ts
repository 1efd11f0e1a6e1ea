/* The writing on boxes: label, class, score and the badge of what diverges below. */

import type { Node } from "../api/types";
import { appearanceOf, badgeOf } from "./appearance";
import { labelOf } from "./labels";
import { HEADER, type OpenBox, type Rect } from "./layout";
import type { Scene } from "./paint";
import { inkOn, rampColor } from "./ramp";

const INSET = 9;
const BADGE_HEIGHT = 18;
const widths = new Map<string, number>();

/** Label, class and score inside a rectangle whose right end is taken from `right` on. */
export function paintLabel(
  context: CanvasRenderingContext2D,
  scene: Scene,
  node: Node,
  rect: Rect,
  right: number,
): void {
  const { ink, hatched } = appearanceOf(node, scene.recolour, scene.comparison);
  const colour = ink ?? scene.palette.ink;
  const middle = rect.y + rect.height / 2 + 0.5;
  const scoreLeft = paintScore(context, scene, node, right, middle, colour);
  const parent = node.parent === null ? undefined : scene.tree.get(node.parent);
  const { text, detail, backward } = labelOf(node, parent);
  const marks = [backward ? "↩" : "", node.recomputed ? "⟳" : "", detail];
  const room = scoreLeft - rect.x - INSET - 8;
  context.textAlign = "left";
  context.textBaseline = "middle";
  context.font = `${hatched ? "italic " : ""}600 12.5px ${scene.palette.font}`;
  context.fillStyle = colour;
  const shown = shorten(context, text, room);
  if (hatched) halo(context, scene, shown, rect.x + INSET, middle);
  context.fillText(shown, rect.x + INSET, middle);
  const used = measure(context, shown) + 7;
  const aside = marks.filter(Boolean).join(" ");
  const place = { x: rect.x + INSET + used, y: middle, room: room - used };
  paintDetail(context, scene, aside, place, { colour, hatched });
}

/** The badge "3 ▾ 0.83" at the right end; returns the x where free space ends. */
export function paintBadge(
  context: CanvasRenderingContext2D,
  scene: Scene,
  node: Node,
  rect: Rect,
): number {
  const badge = scene.recolour === "score" ? badgeOf(node) : null;
  const end = rect.x + rect.width - INSET;
  if (!badge) return node.children > 0 ? paintMore(context, scene, node, rect, end) : end;
  const text = `${badge.count} ▾ ${badge.worst.toFixed(2)}`;
  context.font = `600 11px ${scene.palette.font}`;
  const width = measure(context, text) + 12;
  const left = end - width + 3;
  context.beginPath();
  context.roundRect(left, rect.y + (rect.height - BADGE_HEIGHT) / 2, width, BADGE_HEIGHT, 9);
  context.fillStyle = rampColor(badge.worst);
  context.fill();
  context.strokeStyle = "rgb(0 0 0 / 0.25)";
  context.lineWidth = 1;
  context.stroke();
  context.fillStyle = inkOn(badge.worst);
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.fillText(text, left + width / 2, rect.y + rect.height / 2 + 0.5);
  return left - 7;
}

/** The header strip of an open module. */
export function paintOpenHeader(
  context: CanvasRenderingContext2D,
  scene: Scene,
  box: OpenBox,
): void {
  const strip = { x: box.x, y: box.y, width: box.width, height: HEADER };
  paintLabel(context, scene, box.node, strip, paintBadge(context, scene, box.node, strip));
}

function paintMore(
  context: CanvasRenderingContext2D,
  scene: Scene,
  node: Node,
  rect: Rect,
  end: number,
): number {
  const { ink } = appearanceOf(node, scene.recolour, scene.comparison);
  const text = `▸ ${node.children}`;
  context.font = `11px ${scene.palette.font}`;
  context.fillStyle = ink ?? scene.palette.muted;
  context.textAlign = "right";
  context.textBaseline = "middle";
  const open = scene.tree.isOpen(node.id);
  context.fillText(open ? "▾" : text, end, rect.y + rect.height / 2 + 0.5);
  return end - measure(context, text) - 8;
}

function paintScore(
  context: CanvasRenderingContext2D,
  scene: Scene,
  node: Node,
  right: number,
  middle: number,
  colour: string,
): number {
  const text = scene.recolour === "overflow" ? (node.overflow ?? "") : formatScore(node.score);
  if (text === "") return right;
  context.font = `600 12px ${scene.palette.font}`;
  context.fillStyle = colour;
  context.textAlign = "right";
  context.textBaseline = "middle";
  context.fillText(text, right, middle);
  return right - measure(context, text) - 4;
}

function paintDetail(
  context: CanvasRenderingContext2D,
  scene: Scene,
  text: string,
  { x, y, room }: { x: number; y: number; room: number },
  { colour, hatched }: { colour: string; hatched: boolean },
): void {
  if (text === "" || room < 24) return;
  context.font = `11.5px ${scene.palette.font}`;
  context.fillStyle = colour;
  const shown = shorten(context, text, room);
  if (hatched) halo(context, scene, shown, x, y);
  context.globalAlpha = 0.72;
  context.fillText(shown, x, y);
  context.globalAlpha = 1;
}

/** Keeps writing readable on the hatch. */
function halo(
  context: CanvasRenderingContext2D,
  scene: Scene,
  text: string,
  x: number,
  y: number,
): void {
  context.strokeStyle = scene.palette.surface;
  context.lineWidth = 5;
  context.lineJoin = "round";
  context.strokeText(text, x, y);
}

function formatScore(score: number | null): string {
  return score === null ? "" : score.toFixed(2);
}

/** Cut a text to a width with an ellipsis. */
function shorten(context: CanvasRenderingContext2D, text: string, room: number): string {
  if (measure(context, text) <= room) return text;
  let keep = text.length;
  while (keep > 1 && measure(context, `${text.slice(0, keep)}…`) > room) keep -= 1;
  return `${text.slice(0, keep)}…`;
}

function measure(context: CanvasRenderingContext2D, text: string): number {
  // measureText dominates a frame with thousands of labels, and the same labels come again.
  const key = `${context.font}|${text}`;
  let width = widths.get(key);
  if (width === undefined) {
    if (widths.size > 50_000) widths.clear();
    width = context.measureText(text).width;
    widths.set(key, width);
  }
  return width;
}
