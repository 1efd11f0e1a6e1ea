/* The list of rows of one (step, rank): what is open in it, its pages, and where it stands.
 *
 * Rows of an older openness are shown until the first page of the newer one is there; answers that
 * come late are dropped. */

import type { DiffRow, Profile, RowWindow } from "../api/types";
import { type PairPlace, type RowQuery, fetchProfile, fetchRows } from "../api/rows";
import { Openness } from "../graph/openness";
import type { Window } from "../graph/diffcanvas";
import { PAGE, RowPages } from "../graph/rowpages";

/** What the canvas offers to those who steer it. */
export interface DiffPane {
  /** Bring a row into view; at once, for pages may not be loaded yet. */
  show: (place: number, options?: { middle?: boolean }) => void;
  zoom: (factor: number) => void;
  /** All rows at their usual height, from the top. */
  reset: () => void;
  scrollBy: (rows: number) => void;
  top: () => number;
  setTop: (row: number) => void;
  visibleRows: () => number;
  /** Let the keys move in the rows. */
  focus: () => void;
}

export interface Way {
  cause: number;
  target: number;
}

export class DiffView {
  pages = new RowPages();
  profile: Profile | null = null;
  version = 0;
  /** The first page that failed since the last retry. */
  error: unknown = null;
  way: Way | null = null;
  pane: DiffPane | null = null;
  /** What is in view, as last painted. */
  window: Window | null = null;
  /** A row that keys reached but that has no node to be selected: a fold. */
  cursor: number | null = null;
  private readonly followers = new Set<() => void>();
  private openness: Openness;
  /** A node that stays out of its fold, because it was asked for by name. */
  private kept: number | undefined;
  /** The row at the top before only a way was shown. */
  private left = 0;
  private round = 0;
  /** Counts what was to be revealed: a slow earlier one overwrites no later one. */
  private revealing = 0;
  private readonly asked = new Set<number>();
  /** Requests for rows that are under way. */
  private waiting = 0;
  private readonly listeners = new Set<() => void>();
  private pending: { place: number; middle: boolean } | null = null;
  private first: Promise<void> | null = null;
  /** The node that is being revealed: asked for again, it is not asked again. */
  private under: { id: number; way: Way | null; done: Promise<void> } | null = null;

  constructor(
    readonly place: PairPlace,
    open = "",
  ) {
    this.openness = Openness.parse(open);
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  readonly snapshot = (): number => this.version;

  get open(): string {
    return this.openness.text;
  }

  /** Whether rows are on their way: what is shown until then is of before. */
  get busy(): boolean {
    return this.waiting > 0;
  }

  /** The first rows, those around a node where one is to be shown, then the profile; once. */
  start(node: number | null = null): Promise<void> {
    this.first ??= this.firstRows(node).then(() => void this.loadProfile());
    return this.first;
  }

  /** Ask for the pages of rows that are in view, and one before and behind. */
  want(first: number, last: number): void {
    // How many there are is not known yet; the first rows are on their way.
    if (this.pages.total === 0) return;
    for (const page of this.pages.missing(first - PAGE / 2, last + PAGE / 2)) {
      if (!this.asked.has(page)) void this.load(page);
    }
  }

  /** The page of a row, once it is there. */
  async loaded(place: number): Promise<void> {
    if (!this.pages.at(place)) await this.load(Math.floor(place / PAGE));
  }

  setCursor(place: number | null): void {
    this.cursor = place;
    this.changed();
  }

  /** Take in what was painted, and tell those who follow the view. */
  moved(window: Window): void {
    this.window = window;
    for (const follower of this.followers) follower();
  }

  readonly onMoved = (follower: () => void): (() => void) => {
    this.followers.add(follower);
    return () => this.followers.delete(follower);
  };

  toggle(row: DiffRow): void {
    if (row.fold > 0) this.change(this.openness.unfold(row.key), row);
    else if (row.fold < 0) this.shut(this.openness.fold(row.key), row);
    else if (row.children > 0 && row.open) this.shut(this.openness.close(row.key), row);
    else if (row.children > 0) this.change(this.openness.open(row.key), row);
  }

  /** Open everything below a node; its row, where it is there, tells which page is asked for. */
  openAll(key: number, row?: DiffRow): void {
    this.change(this.openness.openAll(key), row);
  }

  closeAll(): void {
    this.kept = undefined;
    this.shut(Openness.parse(""));
    this.pane?.show(0);
  }

  /** Open a text written for other ids, where its nodes exist here. */
  adopt(other: DiffView, shift: (key: number) => number | null): void {
    this.openness = other.openness.shifted(shift);
  }

  /** Show only what is on the way from a cause to a node; null shows all again, where one was. */
  setWay(way: Way | null): void {
    if (way && !this.way) this.left = this.pane?.top() ?? 0;
    this.way = way;
    this.giveUp();
    void this.restart(way ? 0 : Math.floor(this.left / PAGE)).then(() => {
      if (this.way === way) this.pane?.setTop(way ? 0 : this.left);
    });
  }

  /** Open the way to a node and bring its row into view.
   *
   * What is opened while the answer is on its way stays open: it is asked for again, with that. */
  reveal(id: number, options: { middle?: boolean } = {}): Promise<void> {
    const { under, way } = this;
    if (under?.id === id && under.way === way) return under.done;
    const ticket = ++this.revealing;
    const done = this.revealNow(id, ticket, options).finally(() => {
      if (this.under?.done === done) this.under = null;
    });
    this.under = { id, way, done };
    return done;
  }

  private async revealNow(id: number, ticket: number, options: { middle?: boolean }): Promise<void> {
    const known = this.pages.find(id);
    if (known >= 0) {
      this.show(known, options.middle ?? false);
      return;
    }
    const answer = await this.askFor(id, ticket);
    if (!answer) return;
    if (answer.found === null) {
      // It is off the way that is shown, or of another pair.
      if (this.way) {
        this.way = null;
        await this.revealNow(id, ticket, options);
      }
      return;
    }
    // Pages that were asked for meanwhile are of the older openness.
    this.round += 1;
    this.openness = Openness.parse(answer.opened);
    this.kept = id;
    this.pages = new RowPages();
    this.asked.clear();
    this.pages.add(answer);
    this.show(answer.found, options.middle ?? true);
  }

  /** Once the canvas is there it takes up what was to be shown. */
  attach(pane: DiffPane): () => void {
    this.pane = pane;
    const { pending } = this;
    this.pending = null;
    if (pending) pane.show(pending.place, { middle: pending.middle });
    return () => {
      if (this.pane === pane) this.pane = null;
    };
  }

  /** The pair itself changed: a mapping, for one. */
  refresh(): void {
    void this.restart();
    void this.loadProfile();
  }

  retry(): void {
    this.error = null;
    void this.restart();
    if (!this.profile) void this.loadProfile();
    this.changed();
  }

  /** The page of a node with the way to it open, for what is open by then; null once overtaken. */
  private async askFor(id: number, ticket: number): Promise<RowWindow | null> {
    for (;;) {
      const { round } = this;
      const answer = await this.ask({ ...this.query(), keep: id, reveal: id, limit: PAGE });
      if (ticket !== this.revealing) return null;
      if (round === this.round) return answer;
    }
  }

  private show(place: number, middle: boolean): void {
    // The canvas learns first how many rows there are now, for it cannot scroll beyond the last.
    this.changed();
    if (this.pane) this.pane.show(place, { middle });
    else this.pending = { place, middle };
  }

  private change(openness: Openness, near?: DiffRow): void {
    this.openness = openness;
    const place = near ? this.placeOf(near) : 0;
    void this.restart(Math.max(0, Math.floor(place / PAGE)));
  }

  /** Close something: what was to be revealed meanwhile would open it again. */
  private shut(openness: Openness, near?: DiffRow): void {
    this.giveUp();
    this.change(openness, near);
  }

  private giveUp(): void {
    this.revealing += 1;
    this.under = null;
  }

  private placeOf(row: DiffRow): number {
    for (let place = 0; place < this.pages.total; place += 1) {
      if (this.pages.at(place) === row) return place;
    }
    return 0;
  }

  private restart(page = Math.floor((this.pane?.top() ?? 0) / PAGE)): Promise<void> {
    this.round += 1;
    this.asked.clear();
    return this.load(page, true);
  }

  private async firstRows(node: number | null): Promise<void> {
    // Whoever selects the node hears of the failure too; the list goes on without it.
    if (node !== null) await this.reveal(node).catch(() => undefined);
    if (this.pages.total === 0) await this.load(0);
  }

  private async load(page: number, anew = false): Promise<void> {
    const { round } = this;
    this.asked.add(page);
    try {
      const answer = await this.ask({ ...this.query(), offset: page * PAGE, limit: PAGE });
      if (round !== this.round) return;
      this.take(answer, anew);
      // A page that is let go may be asked for again; one that failed waits for a retry.
      this.asked.delete(page);
    } catch (error) {
      if (round !== this.round) return;
      this.error ??= error;
      this.changed();
    }
  }

  private async ask(wanted: RowQuery): Promise<RowWindow> {
    this.wait(1);
    try {
      return await fetchRows(this.place, wanted);
    } finally {
      this.wait(-1);
    }
  }

  /** Tell those who follow when the first request begins and when the last one has ended. */
  private wait(by: 1 | -1): void {
    const before = this.busy;
    this.waiting += by;
    if (this.busy !== before) this.changed();
  }

  private take(answer: RowWindow, anew: boolean): void {
    if (anew) this.pages = new RowPages();
    this.pages.add(answer);
    this.changed();
  }

  private async loadProfile(): Promise<void> {
    try {
      this.profile = await fetchProfile(this.place);
      this.changed();
    } catch (error) {
      this.error ??= error;
      this.changed();
    }
  }

  private query() {
    return {
      open: this.openness.text,
      keep: this.kept,
      cause: this.way?.cause,
      target: this.way?.target,
    };
  }

  private changed(): void {
    this.version += 1;
    for (const listener of this.listeners) listener();
  }
}
