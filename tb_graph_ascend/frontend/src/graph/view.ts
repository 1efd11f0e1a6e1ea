/* One pane: a canvas, its viewport and the pointer. Knows nothing of React or the server. */

import type { Node } from "../api/types";
import { type VisibleRun, positionsOf } from "./culling";
import { type Hit, hitTest } from "./hit";
import { type Layout, type Rect, layoutTree, rectOf } from "./layout";
import { Overview } from "./overview";
import type { ChildRange } from "./pages";
import { type Scene, paint } from "./paint";
import type { GraphTree } from "./tree";
import {
  type Size,
  type Viewport,
  confine,
  fit,
  isComfortable,
  panBy,
  reveal,
  zoomAt,
} from "./viewport";

export interface ViewEvents {
  clicked: (hit: Hit | null) => void;
  doubleClicked: (hit: Hit) => void;
  hovered: (hit: Hit | null) => void;
  /** The person moved the view; not sent for moves made by code. */
  moved: (view: Viewport) => void;
  /** Children in view, so that their pages can be loaded. */
  showing: (ranges: ChildRange[]) => void;
  painted: (view: Viewport, layout: Layout, size: Size) => void;
}

export type SceneLook = Pick<
  Scene,
  "palette" | "recolour" | "comparison" | "selected" | "picked" | "highlights" | "microStep"
>;

const GLIDE_MS = 180;
const REST_MS = 140;

export class GraphView {
  layout: Layout;
  view: Viewport = { scale: 1, x: 0, y: 0 };
  size: Size = { width: 0, height: 0 };
  private frame = 0;
  private glide = 0;
  private sharpening = 0;
  private shape = -1;
  private readonly overview = new Overview();
  private untouched = true;
  private readonly context: CanvasRenderingContext2D;

  constructor(
    readonly canvas: HTMLCanvasElement,
    readonly tree: GraphTree,
    private look: SceneLook,
    readonly events: ViewEvents,
  ) {
    const context = canvas.getContext("2d", { alpha: false });
    if (!context) throw new Error("this browser gives no 2D canvas; use a current Chromium or Firefox");
    this.context = context;
    this.layout = layoutTree(tree);
    this.shape = tree.shape;
  }

  setLook(look: SceneLook): void {
    this.look = look;
    this.invalidate();
  }

  resize(width: number, height: number): void {
    this.size = { width, height };
    const ratio = window.devicePixelRatio || 1;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    if (this.untouched) this.fitAll();
    else this.paintNow();
  }

  /** Lay out anew after opening or closing; `anchor` keeps its place on screen. */
  relayout(anchor?: Node): void {
    if (this.shape === this.tree.shape) {
      this.refresh();
      return;
    }
    this.shape = this.tree.shape;
    const before = anchor && rectOf(this.layout, anchor);
    this.layout = layoutTree(this.tree);
    const after = anchor && rectOf(this.layout, anchor);
    if (anchor) this.untouched = false;
    if (this.untouched) this.fitAll();
    else if (before && after) {
      const { scale, x, y } = this.view;
      this.set({ scale, x: x + after.x - before.x, y: y + after.y - before.y });
    } else this.invalidate();
  }

  /** Whether it still shows everything, as it did at first. */
  get isFitted(): boolean {
    return this.untouched;
  }

  fitAll(): void {
    if (this.size.width > 0) this.set(fit(this.layout.root, this.size));
    this.untouched = true;
  }

  /** Scroll to a node unless it can be read where it is; true when it moved. */
  show(node: Node, smooth: boolean): boolean {
    const rect = rectOf(this.layout, node);
    if (!rect || this.size.width === 0) return false;
    this.untouched = false;
    if (isComfortable(this.view, rect, this.size)) return false;
    this.glideTo(reveal(this.view, rect, this.layout.root, this.size), smooth);
    return true;
  }

  /** Where a node stands now. */
  rect(node: Node): Rect | undefined {
    return rectOf(this.layout, node);
  }

  set(view: Viewport): void {
    cancelAnimationFrame(this.glide);
    this.view = confine(view, this.layout.root, this.size);
    this.invalidate();
  }

  /** A move by the person's hand. */
  move(view: Viewport): void {
    this.untouched = false;
    this.set(view);
    this.events.moved(this.view);
  }

  /** A move that follows the other pane. */
  follow(view: Viewport): void {
    this.untouched = false;
    this.set(view);
  }

  pan(dx: number, dy: number): void {
    this.move(panBy(this.view, dx, dy));
  }

  zoom(factor: number, px = this.size.width / 2, py = this.size.height / 2): void {
    this.move(zoomAt(this.view, factor, px, py));
  }

  hitAt(px: number, py: number): Hit | null {
    return hitTest(this.layout, this.view.x + px / this.view.scale, this.view.y + py / this.view.scale);
  }

  invalidate(): void {
    if (this.frame === 0) this.frame = requestAnimationFrame(() => this.paintNow());
  }

  dispose(): void {
    cancelAnimationFrame(this.frame);
    cancelAnimationFrame(this.glide);
    window.clearTimeout(this.sharpening);
  }

  private paintNow(): void {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    if (this.size.width === 0) return;
    const { tree, layout, view, size } = this;
    const ratio = this.canvas.width / size.width;
    const scene = { tree, layout, view, size, ratio, ...this.look };
    const visible = this.overview.paint(this.context, scene) ?? paint(this.context, scene);
    if (this.overview.isStretched(view.scale)) this.sharpenSoon();
    this.events.showing(visible.runs.map(rangeOf));
    this.events.painted(view, layout, size);
  }

  /** Same boxes, newer contents: at once when near; a far view waits until pages stop coming. */
  private refresh(): void {
    if (this.overview.covers(this.view.scale)) this.sharpenSoon();
    else {
      this.overview.drop();
      this.invalidate();
    }
  }

  /** Draw the far view anew once the hand rests. */
  private sharpenSoon(): void {
    window.clearTimeout(this.sharpening);
    this.sharpening = window.setTimeout(() => {
      this.overview.drop();
      this.invalidate();
    }, REST_MS);
  }

  private glideTo(target: Viewport, smooth: boolean): void {
    const still = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
    if (!smooth || still) {
      this.set(target);
      this.events.moved(this.view);
      return;
    }
    const from = this.view;
    const start = performance.now();
    const tick = (now: number): void => {
      const share = Math.min(1, Math.max(0, (now - start) / GLIDE_MS));
      this.view = between(from, target, 1 - (1 - share) ** 3);
      this.invalidate();
      this.events.moved(this.view);
      if (share < 1) this.glide = requestAnimationFrame(tick);
    };
    cancelAnimationFrame(this.glide);
    this.glide = requestAnimationFrame(tick);
  }
}

function rangeOf(visible: VisibleRun): ChildRange {
  const [first, last] = positionsOf(visible);
  return { parent: visible.run.parent, first, last };
}

function between(from: Viewport, to: Viewport, share: number): Viewport {
  return {
    scale: from.scale + (to.scale - from.scale) * share,
    x: from.x + (to.x - from.x) * share,
    y: from.y + (to.y - from.y) * share,
  };
}

