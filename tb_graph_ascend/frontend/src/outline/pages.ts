/* Loads children page by page as they come into view, each page once, two requests at a time. */

import type { Children } from "../api/types";
import type { GraphTree } from "./tree";

export const PAGE = 500;
const PARALLEL = 2;

export type FetchPage = (parent: number, offset: number, limit: number) => Promise<Children>;

/** Positions first … last (inclusive) of a parent. */
export interface ChildRange {
  parent: number;
  first: number;
  last: number;
}

export class ChildPages {
  /** Pages loaded or on their way. */
  private readonly asked = new Set<string>();
  /** Wishes of the pane's last frame; those of a view that is gone are dropped. */
  private inView: ChildRange[] = [];
  /** Wishes of the outline, newest first. */
  private wanted: ChildRange[] = [];
  private running = 0;

  constructor(
    private readonly tree: GraphTree,
    private readonly fetchPage: FetchPage,
    private readonly arrived: () => void,
    private readonly failed: (error: unknown) => void,
  ) {}

  /** Ask for the pages of what a frame shows; what earlier frames wished and did not get is off. */
  show(ranges: readonly ChildRange[]): void {
    this.inView = [...ranges];
    this.pump();
  }

  /** Ask for the page of one child in addition. */
  want(parent: number, position: number): void {
    this.wanted.unshift({ parent, first: position, last: position });
    this.pump();
  }

  /** Load one page now; resolves when it is in the tree. */
  async load(parent: number, position: number): Promise<void> {
    if (this.tree.childAt(parent, position)) return;
    await this.fetch(parent, position - (position % PAGE));
  }

  /** Forget failures, so that what is in view is asked for again. */
  retry(): void {
    this.asked.clear();
  }

  private pump(): void {
    while (this.running < PARALLEL) {
      const next = this.next(this.wanted) ?? this.next(this.inView);
      if (!next) return;
      this.running += 1;
      this.fetch(next.parent, next.offset)
        .catch(this.failed)
        .finally(() => {
          this.running -= 1;
          this.pump();
        });
    }
  }

  /** The first page of these ranges that nobody asked for; ranges without one are dropped. */
  private next(ranges: ChildRange[]): { parent: number; offset: number } | undefined {
    for (let range = ranges[0]; range; range = ranges[0]) {
      const { parent, first, last } = range;
      for (let offset = first - (first % PAGE); offset <= last; offset += PAGE) {
        if (!this.asked.has(`${parent}:${offset}`)) return { parent, offset };
      }
      ranges.shift();
    }
    return undefined;
  }

  private async fetch(parent: number, offset: number): Promise<void> {
    this.asked.add(`${parent}:${offset}`);
    const page = await this.fetchPage(parent, offset, PAGE);
    this.tree.insert(page.children);
    this.arrived();
  }
}
