/* Keeps the two panes together: same scale, and the anchor pair at the same height on screen. */

import type { Node, Side } from "../api/types";
import type { GraphView } from "../graph/view";

export type Anchor = Record<Side, Node>;

export class PaneLink {
  enabled = true;
  private readonly views: Partial<Record<Side, GraphView>> = {};
  private anchor: Anchor | null = null;
  private listener: () => void = () => undefined;
  private missing = 0;
  private resolveReady: () => void = () => undefined;
  /** Settles once all panes are on the page and have their size. */
  readonly ready = new Promise<void>((resolve) => {
    this.resolveReady = resolve;
  });

  /** How many panes there will be. */
  expect(panes: number): void {
    this.missing = panes;
    if (panes === 0) this.resolveReady();
  }

  attach(side: Side, view: GraphView): () => void {
    this.views[side] = view;
    this.missing -= 1;
    if (this.missing <= 0) this.resolveReady();
    return () => {
      if (this.views[side] === view) Reflect.deleteProperty(this.views, side);
    };
  }

  view(side: Side): GraphView | undefined {
    return this.views[side];
  }

  /** The pair of matched nodes that shall stand side by side. */
  setAnchor(anchor: Anchor | null): void {
    this.anchor = anchor;
  }

  /** Be told after each move (one listener). */
  onMoved(listener: () => void): void {
    this.listener = listener;
  }

  /** Let the other pane follow the one that moved. */
  moved(side: Side): void {
    this.listener();
    const leader = this.views[side];
    const other = this.views[side === "problem" ? "benchmark" : "problem"];
    if (!this.enabled || !leader || !other) return;
    const { dx, dy } = this.offset(side, leader, other);
    const { scale, x, y } = leader.view;
    other.follow({ scale, x: x + dx, y: y + dy });
  }

  fitAll(): void {
    this.anchor = null;
    this.views.problem?.fitAll();
    this.views.benchmark?.fitAll();
    this.listener();
  }

  private offset(side: Side, leader: GraphView, other: GraphView): { dx: number; dy: number } {
    if (!this.anchor) return { dx: 0, dy: 0 };
    const here = leader.rect(this.anchor[side]);
    const there = other.rect(this.anchor[side === "problem" ? "benchmark" : "problem"]);
    return here && there ? { dx: there.x - here.x, dy: there.y - here.y } : { dx: 0, dy: 0 };
  }
}
