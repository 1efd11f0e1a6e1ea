/* The modules of a pair as a tree of their own, a window of rows at a time. */

import { address, request } from "./client";
import type { PairPlace } from "./rows";

export interface OutlineRow {
  /** Number of the module in the tree, and the node to go to. */
  entry: number;
  node: number;
  title: string;
  type_name: string;
  /** What the benchmark calls it where it does so differently. */
  other: string;
  depth: number;
  /** The row of the module it is in. */
  above: number | null;
  children: number;
  open: boolean;
  position: number;
  siblings: number;
  /** Of all that ran in it. */
  nodes: number;
  divergent: number;
  alone: number;
  begins: boolean;
  worst: number | null;
}

export interface OutlineWindow {
  total: number;
  offset: number;
  rows: OutlineRow[];
  modules: number;
  divergent: number;
  /** Rows of the whole list: where a node is, and where a title begins as asked. */
  here: number | null;
  found: number | null;
}

export interface OutlineQuery {
  toggled: string;
  divergent: boolean;
  here?: number | undefined;
  prefix?: string;
  after?: number;
  offset?: number;
  limit?: number;
}

export function fetchOutline({ db, step, rank }: PairPlace, query: OutlineQuery): Promise<OutlineWindow> {
  return request<OutlineWindow>(address(`databases/${encodeURIComponent(db)}/pairs/${step}/${rank}/outline`, { ...query }));
}
