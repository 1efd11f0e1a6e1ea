/* One (step, rank) on screen: the nodes of both sides that are known, the rows and the outline. */

import { api } from "../api/client";
import type { Node, PairGraphs } from "../api/types";
import { DiffView } from "./diffview";
import { OutlineView } from "./outline";

export const SIDES = ["problem", "benchmark"] as const;

export class GraphSession {
  /** The rows that both sides share. */
  readonly diff: DiffView;
  /** The modules of both sides, whatever ran when. */
  readonly outline: OutlineView;
  version = 0;
  private readonly nodes = new Map<number, Node>();
  private readonly listeners = new Set<() => void>();

  constructor(
    readonly db: string,
    readonly pair: PairGraphs,
    diff?: DiffView,
  ) {
    const place = { db, step: pair.step, rank: pair.rank };
    this.diff = diff ?? new DiffView(place);
    this.outline = new OutlineView(place);
    this.take(SIDES.flatMap((side) => pair[side]?.root ?? []));
  }

  get comparison(): boolean {
    return this.pair.problem !== null && this.pair.benchmark !== null;
  }

  /** The root of the problem's graph, or of the only one there is. */
  get root(): Node | undefined {
    return this.pair.problem?.root ?? this.pair.benchmark?.root;
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  /** A node that was selected, or stands above one that was. */
  get(id: number): Node | undefined {
    return this.nodes.get(id);
  }

  /** The nodes above a known one, the root first. */
  ancestors({ parent }: Node): Node[] {
    const above = parent === null ? undefined : this.nodes.get(parent);
    return above ? [...this.ancestors(above), above] : [];
  }

  /** A node, with those above it; undefined when it belongs to another pair. */
  async load(id: number): Promise<Node | undefined> {
    if (!this.nodes.has(id)) {
      this.take((await api.path(this.db, id)).path);
      this.changed();
    }
    return this.get(id);
  }

  /** Take over nodes whose state a mapping changed. */
  update(nodes: readonly Node[]): void {
    this.take(nodes.filter(({ id }) => this.nodes.has(id)));
    this.diff.refresh();
    void this.outline.refresh();
    this.changed();
  }

  /** Ask anew for all that is shown: somebody else changed the mapping. */
  async renew(selected: number | null): Promise<void> {
    const roots = SIDES.flatMap((side) => this.pair[side]?.root ?? []);
    const path = selected === null ? [] : (await api.path(this.db, selected)).path;
    this.nodes.clear();
    this.take([...roots, ...path]);
    this.update([]);
  }

  private take(nodes: readonly Node[]): void {
    const graphs = SIDES.map((side) => this.pair[side]?.root.graph);
    for (const node of nodes) if (graphs.includes(node.graph)) this.nodes.set(node.id, node);
  }

  private changed(): void {
    this.version += 1;
    for (const listener of this.listeners) listener();
  }
}
