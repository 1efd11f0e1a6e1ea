/* Draws the visible boxes of one graph on a canvas, with less detail the further one zooms out. */

import type { Node } from "../api/types";
import { type Recolour, appearanceOf } from "./appearance";
import { paintBadge, paintLabel, paintOpenHeader } from "./boxtext";
import { type Visible, type VisibleRun, visibleIn } from "./culling";
import { CELL, HEADER, type Layout, type OpenBox, type Rect, type Run, cellOf } from "./layout";
import type { GraphTree } from "./tree";
import { type Size, type Viewport, visibleRect } from "./viewport";

/** Colours that follow the theme; the ramp does not. */
export interface Palette {
  canvas: string;
  surface: string;
  nested: string;
  line: string;
  border: string;
  ink: string;
  muted: string;
  hatch: string;
  accent: string;
  hit: string;
  font: string;
}

export interface Scene {
  tree: GraphTree;
  layout: Layout;
  view: Viewport;
  size: Size;
  ratio: number;
  palette: Palette;
  recolour: Recolour;
  comparison: boolean;
  selected: number | null;
  picked: number | null;
  /** Nodes of other micro-steps stand back; null shows all alike. */
  microStep: number | null;
  highlights: (node: Node) => boolean;
}

/** Below this scale text is left out, below the second also borders. */
const TEXT_SCALE = 0.42;
export const FAR_SCALE = 0.12;
const RADIUS = 5;

/** Paint everything in view and return it, so that missing pages can be asked for. */
export function paint(context: CanvasRenderingContext2D, scene: Scene): Visible {
  const { view, size, ratio, palette } = scene;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.fillStyle = palette.canvas;
  context.fillRect(0, 0, size.width, size.height);
  const scale = view.scale * ratio;
  context.setTransform(scale, 0, 0, scale, -view.x * scale, -view.y * scale);
  const visible = visibleIn(scene.layout, visibleRect(view, size));
  for (const box of visible.boxes) paintOpenBox(context, scene, box);
  for (const run of visible.runs) paintRun(context, scene, run);
  return visible;
}

function paintOpenBox(context: CanvasRenderingContext2D, scene: Scene, box: OpenBox): void {
  const { palette, view } = scene;
  context.fillStyle = box.node.depth % 2 ? palette.nested : palette.surface;
  outline(context, box, radiusAt(view.scale));
  context.fill();
  context.save();
  context.clip();
  fillNode(context, scene, box.node, { ...box, height: HEADER });
  context.restore();
  outline(context, box, radiusAt(view.scale));
  stroke(context, scene, box.node);
  if (view.scale > TEXT_SCALE) paintOpenHeader(context, scene, box);
}

function paintRun(context: CanvasRenderingContext2D, scene: Scene, visible: VisibleRun): void {
  const { run, rows, columns } = visible;
  const far = scene.view.scale <= FAR_SCALE;
  for (let row = rows[0]; row < rows[1]; row += 1) {
    for (let column = columns[0]; column < columns[1]; column += 1) {
      const position = run.first + row * run.columns + column;
      if (position >= run.first + run.count) return;
      const rect = far ? pitchOf(run, position) : cellOf(run, position);
      const node = scene.tree.childAt(run.parent, position);
      if (node) {
        paintCell(context, scene, node, rect);
        if (standsBack(scene, node)) veil(context, scene, rect);
      } else paintPlaceholder(context, scene, rect);
    }
  }
}

function standsBack({ microStep }: Scene, node: Node): boolean {
  return microStep !== null && node.micro_step !== microStep;
}

function veil(context: CanvasRenderingContext2D, scene: Scene, rect: Rect): void {
  context.globalAlpha = 0.75;
  context.fillStyle = scene.palette.canvas;
  context.fillRect(rect.x - 1, rect.y - 1, rect.width + 2, rect.height + 2);
  context.globalAlpha = 1;
}

/** The cell with its gaps: from afar the gaps would only shimmer. */
function pitchOf(run: Run, position: number): Rect {
  const rect = cellOf(run, position);
  return { ...rect, width: rect.width + CELL.gap, height: rect.height + CELL.gap };
}

function paintCell(
  context: CanvasRenderingContext2D,
  scene: Scene,
  node: Node,
  rect: Rect,
): void {
  const { scale } = scene.view;
  if (scale <= FAR_SCALE) {
    fillNode(context, scene, node, rect);
    return;
  }
  outline(context, rect, radiusAt(scale));
  fillShape(context, scene, node);
  stroke(context, scene, node);
  if (scale > TEXT_SCALE) {
    const right = paintBadge(context, scene, node, rect);
    paintLabel(context, scene, node, rect, right);
  }
}

function paintPlaceholder(context: CanvasRenderingContext2D, scene: Scene, rect: Rect): void {
  context.fillStyle = scene.palette.border;
  context.globalAlpha = 0.35;
  context.fillRect(rect.x, rect.y, rect.width, rect.height);
  context.globalAlpha = 1;
}

function fillNode(
  context: CanvasRenderingContext2D,
  scene: Scene,
  node: Node,
  rect: Rect,
): void {
  const { fill, hatched } = appearanceOf(node, scene.recolour, scene.comparison);
  const far = scene.view.scale <= FAR_SCALE;
  context.fillStyle = hatched && far ? scene.palette.muted : (fill ?? scene.palette.surface);
  context.fillRect(rect.x, rect.y, rect.width, rect.height);
  if (!hatched || far) return;
  context.fillStyle = hatchPattern(context, scene.palette);
  context.fillRect(rect.x, rect.y, rect.width, rect.height);
}

function fillShape(context: CanvasRenderingContext2D, scene: Scene, node: Node): void {
  const { fill, hatched } = appearanceOf(node, scene.recolour, scene.comparison);
  context.fillStyle = fill ?? scene.palette.surface;
  context.fill();
  if (!hatched) return;
  context.fillStyle = hatchPattern(context, scene.palette);
  context.fill();
}

/** Draw the line around the path that was filled. */
function stroke(context: CanvasRenderingContext2D, scene: Scene, node: Node): void {
  const { palette, view } = scene;
  const marked = markOf(scene, node);
  context.strokeStyle = marked ?? palette.border;
  context.lineWidth = (marked ? 2.5 : 1) / Math.min(1, view.scale);
  context.stroke();
}

function markOf(scene: Scene, node: Node): string | null {
  if (node.id === scene.selected || node.id === scene.picked) return scene.palette.accent;
  return scene.highlights(node) ? scene.palette.hit : null;
}

function outline(context: CanvasRenderingContext2D, rect: Rect, radius: number): void {
  context.beginPath();
  if (radius === 0) context.rect(rect.x, rect.y, rect.width, rect.height);
  else context.roundRect(rect.x, rect.y, rect.width, rect.height, radius);
}

/** Round corners cost time and cannot be seen from afar. */
function radiusAt(scale: number): number {
  return scale > TEXT_SCALE ? RADIUS : 0;
}

const hatchPatterns = new Map<string, CanvasPattern>();

function hatchPattern(context: CanvasRenderingContext2D, palette: Palette): CanvasPattern {
  const known = hatchPatterns.get(palette.hatch);
  if (known) return known;
  const tile = document.createElement("canvas");
  tile.width = tile.height = 8;
  const lines = tile.getContext("2d");
  if (!lines) throw new Error("this browser gives no 2D canvas; use a current Chromium or Firefox");
  lines.strokeStyle = palette.hatch;
  lines.lineWidth = 1.6;
  for (const shift of [-8, 0, 8]) {
    lines.moveTo(shift, 8);
    lines.lineTo(shift + 8, 0);
  }
  lines.stroke();
  const pattern = context.createPattern(tile, "repeat");
  if (!pattern) throw new Error("the hatch of unmatched nodes could not be made");
  hatchPatterns.set(palette.hatch, pattern);
  return pattern;
}

