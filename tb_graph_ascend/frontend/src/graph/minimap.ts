/* The whole graph in a narrow strip: red stays visible however small, because it is drawn last. */

import { appearanceOf, type Recolour } from "./appearance";
import { cellOf, type Layout, type OpenBox, type Rect, type Run } from "./layout";
import type { Palette } from "./paint";
import type { GraphTree } from "./tree";
import type { Size } from "./viewport";

export interface MinimapScene {
  tree: GraphTree;
  layout: Layout;
  size: Size;
  ratio: number;
  palette: Palette;
  recolour: Recolour;
  comparison: boolean;
}

interface Mark {
  rect: Rect;
  fill: string;
  weight: number;
}

/** Draw the layout stretched over the strip. */
export function paintMinimap(context: CanvasRenderingContext2D, scene: MinimapScene): void {
  const { size, ratio, layout, palette } = scene;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.fillStyle = palette.canvas;
  context.fillRect(0, 0, size.width, size.height);
  const marks: Mark[] = [];
  collect(scene, layout.root, marks);
  marks.sort((a, b) => a.weight - b.weight);
  for (const { rect, fill } of marks) {
    const { x, y, width, height } = stretch(rect, layout.root, size);
    context.fillStyle = fill;
    context.fillRect(x, y, Math.max(1, width), Math.max(1, height));
  }
}

/** Where a world rectangle lies on the strip. */
export function stretch(rect: Rect, world: Rect, size: Size): Rect {
  const sx = size.width / world.width;
  const sy = Math.min(size.height / world.height, 1);
  return {
    x: (rect.x - world.x) * sx,
    y: (rect.y - world.y) * sy,
    width: rect.width * sx,
    height: rect.height * sy,
  };
}

/** The world's y of a point on the strip. */
export function unstretch(y: number, world: Rect, size: Size): number {
  return world.y + y / Math.min(size.height / world.height, 1);
}

function collect(scene: MinimapScene, box: OpenBox, marks: Mark[]): void {
  marks.push({ rect: box, fill: scene.palette.line, weight: box.node.depth - 1000 });
  for (const item of box.items) {
    if (item.kind === "box") collect(scene, item, marks);
    else collectRun(scene, item, marks);
  }
}

function collectRun(scene: MinimapScene, run: Run, marks: Mark[]): void {
  for (let position = run.first; position < run.first + run.count; position += 1) {
    const node = scene.tree.childAt(run.parent, position);
    if (!node) continue;
    const { fill, hatched } = appearanceOf(node, scene.recolour, scene.comparison);
    const weight = hatched ? 0.05 : (node.score ?? -1);
    const colour = hatched ? scene.palette.muted : (fill ?? scene.palette.surface);
    marks.push({ rect: cellOf(run, position), fill: colour, weight });
  }
}
