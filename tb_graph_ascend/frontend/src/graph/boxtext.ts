/* The writing on boxes: label, class, score and the badge of what diverges below. */

import type { Node } from "../api/types";
import { appearanceOf, badgeOf } from "./appearance";
import { labelOf } from "./labels";
import { HEADER, type OpenBox, type Rect } from "./layout";
import type { Scene } from "./paint";
import { inkOn, rampColor } from "./ramp";
import { measure, shorten } from "./textwidth";

const INSET = 9;
const BADGE_HEIGHT = 18;

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
  const font = `${hatched ? "italic " : ""}600 12.5px ${scene.palette.font}`;
  context.font = font;
  context.fillStyle = colour;
  const shown = shorten(context, font, text, room);
  if (hatched) halo(context, scene, shown, rect.x + INSET, middle);
  context.fillText(shown, rect.x + INSET, middle);
  const used = measure(context, font, shown) + 7;
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
  const font = `600 11px ${scene.palette.font}`;
  context.font = font;
  const width = measure(context, font, text) + 12;
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
  const font = `11px ${scene.palette.font}`;
  context.font = font;
  context.fillStyle = ink ?? scene.palette.muted;
  context.textAlign = "right";
  context.textBaseline = "middle";
  const open = scene.tree.isOpen(node.id);
  context.fillText(open ? "▾" : text, end, rect.y + rect.height / 2 + 0.5);
  return end - measure(context, font, text) - 8;
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
  const font = `600 12px ${scene.palette.font}`;
  context.font = font;
  context.fillStyle = colour;
  context.textAlign = "right";
  context.textBaseline = "middle";
  context.fillText(text, right, middle);
  return right - measure(context, font, text) - 4;
}

function paintDetail(
  context: CanvasRenderingContext2D,
  scene: Scene,
  text: string,
  { x, y, room }: { x: number; y: number; room: number },
  { colour, hatched }: { colour: string; hatched: boolean },
): void {
  if (text === "" || room < 24) return;
  const font = `11.5px ${scene.palette.font}`;
  context.font = font;
  context.fillStyle = colour;
  const shown = shorten(context, font, text, room);
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
