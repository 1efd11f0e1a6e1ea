/* The tree of modules of one (step, rank): what is open in it, its pages, where the keys are.
 *
 * All modules are closed at first, of those that diverge all are open: `toggled` holds what differs
 * from that. Answers to an older state are dropped. */

import type { OutlineRow, OutlineWindow } from "../api/types";
import { fetchOutline } from "../api/outline";
import type { PairPlace } from "../api/rows";

const PAGE = 100;
const PAGE_ROWS = 12;

export class OutlineView {
  total = 0;
  modules = 0;
  divergent = 0;
  /** Divergent nodes in no module. */
  outside = 0;
  /** Only modules in which something diverges. */
  filtered = false;
  /** The row of the selected node's module, or of what it is closed into. */
  here: number | null = null;
  /** The row that the keys are on. */
  cursor = 0;
  version = 0;
  error: unknown = null;
  private node: number | null = null;
  /** Counts what the person moved: an answer on its way then does not take the keys elsewhere. */
  private moves = 0;
  private toggled = { all: new Set<number>(), divergent: new Set<number>() };
  private pages = new Map<number, OutlineRow[]>();
  private asked = new Set<number>();
  private round = 0;
  private readonly listeners = new Set<() => void>();

  constructor(readonly place: PairPlace) {}

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  readonly snapshot = (): number => this.version;

  at(row: number): OutlineRow | undefined {
    return this.pages.get(Math.floor(row / PAGE))?.[row % PAGE];
  }

  /** Ask for the pages of rows that are in view. */
  want(first: number, last: number): void {
    for (let page = Math.floor(first / PAGE); page <= Math.floor(last / PAGE); page += 1) {
      if (!this.asked.has(page)) void this.load(page);
    }
  }

  /** The tree of another step or rank opens as this one did, for models seldom change between them. */
  adopt(other: OutlineView): void {
    this.toggled = other.toggled;
    this.filtered = other.filtered;
    this.cursor = other.cursor;
  }

  /** Look for the module of a node; the keys go on from there. */
  async look(node: number | null): Promise<void> {
    if (node === this.node) return;
    this.node = node;
    const { round, moves } = this;
    const here = node === null ? null : (await this.ask({ limit: 1 })).here;
    if (node !== this.node || round !== this.round) return;
    this.here = here;
    if (moves === this.moves) this.cursor = here ?? this.cursor;
    this.changed();
  }

  toggle(row: OutlineRow): Promise<void> {
    const { open } = this;
    if (row.children === 0) return Promise.resolve();
    if (!open.delete(row.entry)) open.add(row.entry);
    return this.anew();
  }

  filter(filtered: boolean): Promise<void> {
    this.filtered = filtered;
    this.cursor = 0;
    this.changed();
    return this.anew();
  }

  /** The pair itself changed: a mapping, for one. */
  refresh(): Promise<void> {
    return this.asked.size > 0 ? this.anew() : Promise.resolve();
  }

  retry(): void {
    this.error = null;
    void this.anew();
  }

  moveTo(row: number): void {
    this.moves += 1;
    this.cursor = Math.max(0, Math.min(this.total - 1, row));
    if (this.total > 0) this.want(this.cursor, this.cursor);
    this.changed();
  }

  /** What a key of a tree does; false when it is none. Enter is for whoever shows the tree. */
  key(key: string): boolean {
    const { cursor } = this;
    const row = this.at(cursor);
    const to = { ArrowDown: cursor + 1, ArrowUp: cursor - 1, PageDown: cursor + PAGE_ROWS, PageUp: cursor - PAGE_ROWS, Home: 0, End: this.total - 1 }[key];
    if (to !== undefined) this.moveTo(to);
    else if (key === "ArrowRight" && row?.open === false) void this.toggle(row);
    else if (key === "ArrowRight" && row?.open && row.children > 0) this.moveTo(cursor + 1);
    else if (key === "ArrowLeft" && row?.open && row.children > 0) void this.toggle(row);
    else if (key === "ArrowLeft") this.moveTo(row?.above ?? cursor);
    else return key === "ArrowRight";
    return true;
  }

  /** Go to the next row below one whose title begins as typed. */
  async find(prefix: string, after: number): Promise<void> {
    const { round } = this;
    const { found } = await this.ask({ prefix, after: Math.max(0, after), limit: 1 });
    if (found !== null && round === this.round) this.moveTo(found);
  }

  private get open(): Set<number> {
    return this.filtered ? this.toggled.divergent : this.toggled.all;
  }

  private async anew(): Promise<void> {
    this.round += 1;
    this.asked.clear();
    await this.load(Math.floor(this.cursor / PAGE), true);
  }

  private async load(page: number, anew = false): Promise<void> {
    const { round, node } = this;
    this.asked.add(page);
    try {
      const answer = await this.ask({ offset: page * PAGE, limit: PAGE });
      // Where another node was selected meanwhile, the answer to that says where one is.
      const here = node === this.node ? answer.here : this.here;
      if (round === this.round) this.take({ ...answer, here }, page, anew);
    } catch (error) {
      if (round !== this.round) return;
      this.error ??= error;
      this.changed();
    }
  }

  private take(answer: OutlineWindow, page: number, anew: boolean): void {
    if (anew) this.pages = new Map();
    this.pages.set(page, answer.rows);
    const { total, modules, divergent, outside, here } = answer;
    Object.assign(this, { total, modules, divergent, outside, here });
    this.cursor = Math.max(0, Math.min(this.cursor, total - 1));
    this.changed();
  }

  private ask(part: { offset?: number; limit: number; prefix?: string; after?: number }): Promise<OutlineWindow> {
    const toggled = [...this.open].join(".");
    return fetchOutline(this.place, { toggled, divergent: this.filtered, here: this.node ?? undefined, ...part });
  }

  private changed(): void {
    this.version += 1;
    for (const listener of this.listeners) listener();
  }
}
