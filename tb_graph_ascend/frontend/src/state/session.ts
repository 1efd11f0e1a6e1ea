/* One (step, rank) on screen: the trees of both sides, their pages, and what opens together. */

import { api } from "../api/client";
import type { Node, PairGraphs, Side } from "../api/types";
import { ChildPages } from "../outline/pages";
import { GraphTree } from "../outline/tree";
import { DiffView } from "./diffview";
import { OutlineView } from "./outline";

export const SIDES = ["problem", "benchmark"] as const;

export class GraphSession {
  readonly trees: Record<Side, GraphTree | null>;
  /** The rows that both sides share. */
  readonly diff: DiffView;
  /** The modules of both sides, whatever ran when. */
  readonly outline: OutlineView;
  version = 0;
  /** The first page that failed since the last retry. */
  error: unknown = null;
  private readonly pages: Record<Side, ChildPages | null>;
  private readonly listeners = new Set<(anchors: readonly Node[]) => void>();

  constructor(
    readonly db: string,
    readonly pair: PairGraphs,
    diff?: DiffView,
  ) {
    this.trees = {
      problem: pair.problem && new GraphTree(pair.problem.root),
      benchmark: pair.benchmark && new GraphTree(pair.benchmark.root),
    };
    const place = { db, step: pair.step, rank: pair.rank };
    this.diff = diff ?? new DiffView(place);
    this.outline = new OutlineView(place);
    this.pages = { problem: this.pagesOf("problem"), benchmark: this.pagesOf("benchmark") };
  }

  get comparison(): boolean {
    return this.trees.problem !== null && this.trees.benchmark !== null;
  }

  /** Listeners get the nodes that shall keep their place on screen. */
  readonly subscribe = (listener: (anchors: readonly Node[]) => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  readonly snapshot = (): number => this.version;

  /** Tell the panes and the outline that something is open, loaded or coloured anew. */
  changed(anchors: readonly Node[] = []): void {
    this.version += 1;
    for (const listener of this.listeners) listener(anchors);
  }

  tree(side: Side): GraphTree | null {
    return this.trees[side];
  }

  get(id: number): Node | undefined {
    return this.trees.problem?.get(id) ?? this.trees.benchmark?.get(id);
  }

  /** Ask for the page of a child that the outline shows. */
  want(side: Side, parent: number, position: number): void {
    this.pages[side]?.want(parent, position);
  }

  load(side: Side, parent: number, position: number): Promise<void> {
    return this.pages[side]?.load(parent, position) ?? Promise.resolve();
  }

  retry(): void {
    this.error = null;
    for (const side of SIDES) this.pages[side]?.retry();
    this.changed();
  }

  /** The node with its ancestors open; undefined when it belongs to another pair. */
  async reveal(id: number): Promise<Node | undefined> {
    if (!this.get(id)) await this.fetchPath(id);
    const node = this.get(id);
    if (!node) return undefined;
    const tree = this.trees[node.side];
    const opened = tree?.ancestors(id).filter((ancestor) => tree.open(ancestor.id)) ?? [];
    if (opened.length > 0) this.changed();
    return node;
  }

  /** Open or close a node, and its partner with it when they go together. */
  async toggle(node: Node, together: boolean): Promise<void> {
    const opening = !this.trees[node.side]?.isOpen(node.id);
    this.setOpen(node, opening);
    this.changed([node]);
    if (!together || node.match === null) return;
    const partner = opening ? await this.reveal(node.match) : this.get(node.match);
    if (!partner) return;
    this.setOpen(partner, opening);
    this.changed([node, partner]);
  }

  collapseAll(): void {
    for (const side of SIDES) this.trees[side]?.closeAll();
    this.changed();
  }

  /** Take over nodes whose state a mapping changed. */
  update(nodes: readonly Node[]): void {
    for (const side of SIDES) {
      this.trees[side]?.insert(nodes.filter((node) => this.trees[side]?.get(node.id)));
    }
    this.diff.refresh();
    void this.outline.refresh();
    this.changed();
  }

  private setOpen(node: Node, open: boolean): void {
    const tree = this.trees[node.side];
    if (open) tree?.open(node.id);
    else tree?.close(node.id);
  }

  private async fetchPath(id: number): Promise<void> {
    const { path } = await api.path(this.db, id);
    for (const side of SIDES) this.trees[side]?.insert(path);
  }

  private pagesOf(side: Side): ChildPages | null {
    const tree = this.trees[side];
    if (!tree) return null;
    return new ChildPages(
      tree,
      (parent, offset, limit) => api.children(this.db, parent, offset, limit),
      () => this.changed(),
      (error) => {
        this.error ??= error;
        this.changed();
      },
    );
  }
}
