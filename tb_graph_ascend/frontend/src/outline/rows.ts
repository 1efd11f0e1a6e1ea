/* The outline as numbered rows: row i of n is found through the open modules only,
 * so that 20,000 closed children are one segment and not 20,000 entries. */

import type { GraphTree } from "./tree";

/** Rows first … first + count − 1 are children `position` … of one parent. */
interface Segment {
  first: number;
  count: number;
  parent: number | null;
  position: number;
  depth: number;
}

export interface RowPlace {
  parent: number | null;
  position: number;
  depth: number;
}

export class OutlineRows {
  readonly count: number;
  private readonly segments: Segment[] = [];
  private next = 0;

  constructor(private readonly tree: GraphTree) {
    this.push(null, 0, 1, 1);
    if (tree.isOpen(tree.root.id)) this.below(tree.root.id, 2);
    this.count = this.next;
  }

  /** Parent and position of what stands in a row. */
  at(row: number): RowPlace | undefined {
    const segment = this.segments[this.search(row)];
    if (!segment || row >= segment.first + segment.count) return undefined;
    const position = segment.position + row - segment.first;
    return { parent: segment.parent, position, depth: segment.depth };
  }

  /** The row of a child; −1 while an ancestor is closed. */
  indexOf(parent: number | null, position: number): number {
    const segment = this.segments.find(
      (candidate) =>
        candidate.parent === parent &&
        candidate.position <= position &&
        position < candidate.position + candidate.count,
    );
    return segment ? segment.first + position - segment.position : -1;
  }

  private below(parent: number, depth: number): void {
    const total = this.tree.get(parent)?.children ?? 0;
    let next = 0;
    for (const child of this.tree.openChildren(parent)) {
      this.push(parent, next, child.position + 1 - next, depth);
      this.below(child.id, depth + 1);
      next = child.position + 1;
    }
    this.push(parent, next, total - next, depth);
  }

  private push(parent: number | null, position: number, count: number, depth: number): void {
    if (count <= 0) return;
    this.segments.push({ first: this.next, count, parent, position, depth });
    this.next += count;
  }

  /** Binary search: the last segment that begins at or before the row. */
  private search(row: number): number {
    let low = 0;
    let high = this.segments.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.segments[middle]?.first ?? 0) <= row) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}
