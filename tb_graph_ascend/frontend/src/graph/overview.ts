/* A picture of the whole graph for far views: panning over 20,000 cells then copies one bitmap.
 * Zooming stretches it for the moment; it is drawn sharp again when the hand rests. */

import { visibleIn, type Visible } from "./culling";
import { FAR_SCALE, type Scene, paint } from "./paint";
import { visibleRect } from "./viewport";

/** Larger bitmaps cost more memory than they save time. */
const LARGEST_PX = 4096;
const LARGEST_STRETCH = 1.6;

type Look = Pick<
  Scene,
  "layout" | "palette" | "recolour" | "comparison" | "microStep" | "highlights" | "ratio"
>;

export class Overview {
  private bitmap: HTMLCanvasElement | null = null;
  private scale = 0;
  private look: Look | null = null;

  /** Paint from the bitmap; null where the view is too near or the graph too large for one. */
  paint(context: CanvasRenderingContext2D, scene: Scene): Visible | null {
    if (!this.fits(scene)) return null;
    if (!this.isCurrent(scene)) this.draw(scene);
    if (!this.bitmap) return null;
    const { view, size, ratio, palette, layout } = scene;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = palette.canvas;
    context.fillRect(0, 0, size.width, size.height);
    const { x, y, width, height } = layout.root;
    const left = (x - view.x) * view.scale;
    const top = (y - view.y) * view.scale;
    context.drawImage(this.bitmap, left, top, width * view.scale, height * view.scale);
    return visibleIn(layout, visibleRect(view, size));
  }

  /** Whether the last picture was stretched and should be drawn anew. */
  isStretched(scale: number): boolean {
    return this.bitmap !== null && scale <= FAR_SCALE && this.scale !== scale;
  }

  /** Whether a view at this scale is painted from the bitmap. */
  covers(scale: number): boolean {
    return this.bitmap !== null && scale <= FAR_SCALE;
  }

  drop(): void {
    this.bitmap = null;
  }

  private fits({ view, ratio, layout: { root } }: Scene): boolean {
    const factor = view.scale * ratio;
    return view.scale <= FAR_SCALE && Math.max(root.width, root.height) * factor <= LARGEST_PX;
  }

  private isCurrent(scene: Scene): boolean {
    const { look } = this;
    if (!this.bitmap || !look) return false;
    const stretch = scene.view.scale / this.scale;
    if (stretch > LARGEST_STRETCH || stretch < 1 / LARGEST_STRETCH) return false;
    return (Object.keys(look) as (keyof Look)[]).every((key) => look[key] === scene[key]);
  }

  private draw(scene: Scene): void {
    const { layout, palette, recolour, comparison, microStep, highlights, ratio, view } = scene;
    const { x, y, width, height } = layout.root;
    const size = { width: width * view.scale, height: height * view.scale };
    const bitmap = document.createElement("canvas");
    bitmap.width = Math.ceil(size.width * ratio);
    bitmap.height = Math.ceil(size.height * ratio);
    const context = bitmap.getContext("2d", { alpha: false });
    if (!context) return;
    paint(context, { ...scene, view: { scale: view.scale, x, y }, size });
    this.bitmap = bitmap;
    this.scale = view.scale;
    this.look = { layout, palette, recolour, comparison, microStep, highlights, ratio };
  }
}
