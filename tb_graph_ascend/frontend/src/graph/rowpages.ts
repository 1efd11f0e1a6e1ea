/* The list as far as it is loaded: rows by place, in pages; what is not loaded is a hole. */

import type { DiffRow, RailEdge, RowWindow } from "../api/types";

export const PAGE = 100;
/** Pages that are kept: some hundred screens around the one in view, a few megabytes. */
const MOST_PAGES = 128;

export type FlowKnown = "exact" | "inferred" | "both" | "none";

export class RowPages {
  total = 0;
  bins: readonly number[] = [];
  private readonly pages = new Map<number, RowWindow>();

  /** Take a window in that begins where a page begins. */
  add(window: RowWindow): void {
    this.total = window.total;
    this.bins = window.bins;
    const page = Math.floor(window.offset / PAGE);
    this.pages.set(page, window);
    while (this.pages.size > MOST_PAGES) this.pages.delete(this.farthestFrom(page));
  }

  private farthestFrom(page: number): number {
    const far = (known: number): number => Math.abs(known - page);
    return [...this.pages.keys()].reduce((found, known) => (far(known) > far(found) ? known : found));
  }

  at(place: number): DiffRow | undefined {
    return this.pages.get(Math.floor(place / PAGE))?.rows[place % PAGE];
  }

  /** Where a node's own row stands, as far as it is loaded; −1 when it is not. */
  find(id: number): number {
    for (const [page, { rows }] of this.pages) {
      const index = rows.findIndex(
        (row) => row.fold === 0 && (row.problem?.id === id || row.benchmark?.id === id),
      );
      if (index >= 0) return page * PAGE + index;
    }
    return -1;
  }

  /** The row that stands for a node: its own, or the closed one around it; −1 when not loaded. */
  standingFor({ id, side }: { id: number; side: "problem" | "benchmark" }): number {
    let found = { place: -1, id: -1 };
    for (const [page, { rows }] of this.pages) {
      rows.forEach((row, index) => {
        const own = row[side]?.id ?? -1;
        // Ids are in pre-order: what is below a row comes before the next one.
        if (own <= id && own > found.id) found = { place: page * PAGE + index, id: own };
      });
    }
    return found.place;
  }

  /** Pages of a range of rows that are not loaded. */
  missing(first: number, last: number): number[] {
    const found: number[] = [];
    const end = Math.floor(Math.min(last, Math.max(0, this.total - 1)) / PAGE);
    for (let page = Math.max(0, Math.floor(first / PAGE)); page <= end; page += 1) {
      if (!this.pages.has(page)) found.push(page);
    }
    return found;
  }

  /** What flows past or ends in a range of rows. */
  rails(first: number, last: number): RailEdge[] {
    const found = new Map<string, RailEdge>();
    for (let page = Math.floor(first / PAGE); page <= Math.floor(last / PAGE); page += 1) {
      for (const edge of this.pages.get(page)?.rails ?? []) {
        const low = Math.min(edge.producer, edge.consumer);
        if (low <= last && Math.max(edge.producer, edge.consumer) >= first) {
          found.set(`${edge.producer} ${edge.consumer}`, edge);
        }
      }
    }
    return [...found.values()];
  }

  /** How the loaded rails are known: from the dump, by equal values, both; "none" without rails. */
  flowKnown(): FlowKnown {
    const edges = [...this.pages.values()].flatMap(({ rails }) => rails);
    if (edges.length === 0) return "none";
    const exact = edges.some((edge) => edge.exact);
    return exact && edges.some((edge) => !edge.exact) ? "both" : exact ? "exact" : "inferred";
  }

  /** The open rows above a place, the outermost first, as far as they are known. */
  above(place: number): { place: number; row: DiffRow }[] {
    const page = this.pages.get(Math.floor(place / PAGE));
    const row = this.at(place);
    if (!page || !row) return [];
    const found: { place: number; row: DiffRow }[] = [];
    let depth = row.depth;
    const add = (at: number, candidate: DiffRow): void => {
      if (candidate.depth >= depth || candidate.fold < 0) return;
      depth = candidate.depth;
      found.unshift({ place: at, row: candidate });
    };
    const start = Math.floor(place / PAGE) * PAGE;
    for (let at = place - 1; at >= start; at -= 1) {
      const candidate = page.rows[at - start];
      if (candidate) add(at, candidate);
    }
    for (const one of [...page.above].reverse()) add(one.place, one.row);
    return found;
  }

  /** All that is loaded. */
  *loaded(): Generator<DiffRow> {
    for (const { rows } of this.pages.values()) yield* rows;
  }
}
