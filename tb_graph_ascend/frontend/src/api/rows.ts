/* Both sides of a pair as one list of rows, as the server sends it: a window at a time. */

import { address, request } from "./client";
import type { Node, NodeKind } from "./types";

export type Word =
  | "none"
  | "agrees"
  | "carries"
  | "begins"
  | "cannot_tell"
  | "only_problem"
  | "only_benchmark";

export interface RowSide {
  id: number;
  name: string;
  /** What is read below the parent: `self_attn`, `__mul__`. */
  title: string;
  /** Class of a module, family of a call. */
  detail: string;
  call: number | null;
}

export interface DiffRow {
  /** The problem's node id, or the benchmark's where it stands alone. */
  key: number;
  /** Place among all rows of the pair, and how many of them this one stands for. */
  at: number;
  span: number;
  depth: number;
  children: number;
  open: boolean;
  /** 0: a row as such; n: stands for n repeats up to `until`; −n: the head of n unfolded ones. */
  fold: number;
  until: string;
  kind: NodeKind;
  direction: Node["direction"];
  micro_step: number;
  problem: RowSide | null;
  benchmark: RowSide | null;
  word: Word;
  /** The word is that of something below. */
  inside: boolean;
  score: number | null;
  input_score: number | null;
  worst_below: number | null;
  divergent_below: number;
  alone_below: number;
  verdict: Node["verdict"];
  overflow: Node["overflow"];
  source: number | null;
}

export interface RailEdge {
  /** Places in the list. */
  producer: number;
  consumer: number;
  /** 0: the next row; else how far out the rail runs. */
  lane: number;
  /** False where equal values tell it. */
  exact: boolean;
}

export interface RowWindow {
  total: number;
  offset: number;
  rows: DiffRow[];
  /** What stands above the first row, the root first. */
  above: { place: number; row: DiffRow }[];
  rails: RailEdge[];
  /** How many rows of the list begin before each bin of the profile. */
  bins: number[];
  /** The row of the node that was to be revealed, and what is open for it. */
  found: number | null;
  opened: string;
}

export interface Profile {
  rows: number;
  worst: (number | null)[];
  causes: number[];
  alone: number[];
  phases: { name: string; bin: number }[];
}

export interface PairPlace {
  db: string;
  step: number;
  rank: number;
}

export interface RowQuery {
  open: string;
  keep?: number | undefined;
  reveal?: number | undefined;
  cause?: number | undefined;
  target?: number | undefined;
  offset?: number;
  limit?: number;
}

export function fetchRows(place: PairPlace, query: RowQuery): Promise<RowWindow> {
  return request<RowWindow>(address(`${pathOf(place)}/rows`, { ...query }));
}

export function fetchProfile(place: PairPlace): Promise<Profile> {
  return request<Profile>(address(`${pathOf(place)}/profile`));
}

function pathOf({ db, step, rank }: PairPlace): string {
  return `databases/${encodeURIComponent(db)}/pairs/${step}/${rank}`;
}
