/* Loads children page by page as they come into view, each page once, a few requests at a time. */

import type { Children } from "../api/types";
import type { GraphTree } from "./tree";

export const PAGE = 500;
const PARALLEL = 4;

export type FetchPage = (parent: number, offset: number, limit: number) => Promise<Children>;

interface Wanted {
  parent: number;
  offset: number;
}

export class ChildPages {
  private readonly asked = new Set<string>();
  private queue: Wanted[] = [];
  private running = 0;

  constructor(
    private readonly tree: GraphTree,
    private readonly fetchPage: FetchPage,
    private readonly arrived: () => void,
    private readonly failed: (error: unknown) => void,
  ) {}

  /** Ask for the pages that hold positions first … last of a parent; the newest wish goes first. */
  want(parent: number, first: number, last: number): void {
    for (let offset = last - (last % PAGE); offset >= first - (first % PAGE); offset -= PAGE) {
      const key = `${parent}:${offset}`;
      if (this.asked.has(key)) continue;
      this.asked.add(key);
      this.queue.unshift({ parent, offset });
    }
    this.pump();
  }

  /** Load one page now; resolves when it is in the tree. */
  async load(parent: number, position: number): Promise<void> {
    if (this.tree.childAt(parent, position)) return;
    const offset = position - (position % PAGE);
    this.asked.add(`${parent}:${offset}`);
    await this.fetch({ parent, offset });
  }

  /** Forget failures, so that what is in view is asked for again. */
  retry(): void {
    this.asked.clear();
    this.queue = [];
  }

  private pump(): void {
    while (this.running < PARALLEL) {
      const wanted = this.queue.shift();
      if (!wanted) return;
      this.running += 1;
      this.fetch(wanted)
        .catch(this.failed)
        .finally(() => {
          this.running -= 1;
          this.pump();
        });
    }
  }

  private async fetch({ parent, offset }: Wanted): Promise<void> {
    const page = await this.fetchPage(parent, offset, PAGE);
    this.tree.insert(page.children);
    this.arrived();
  }
}
