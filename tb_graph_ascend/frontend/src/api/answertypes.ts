/* The messages about where it begins, the strip of ranks and the nodes table. */

import type { Finding, Node } from "./types";

/** GET api/databases/{db}/answer – where it begins. */
export interface Answer {
  /** Best first; one cause that is on many ranks and steps is one. */
  causes: Cause[];
  cause_count: number;
  threshold: number;
  coverage: Coverage;
  /** Manual pairs that came or went since the build that said so. */
  changed_pairs: number;
}

export interface Cause {
  /** The best of the findings that name it. */
  finding: Finding;
  /** Module that it stands in (`layers.3.self_attn`); null at the top level. */
  module: string | null;
  call: number | null;
  stack: string[] | null;
  ranks: number[];
  first_step: number;
  last_step: number;
  step_count: number;
  place_count: number;
  /** The first of all places. */
  places: CausePlace[];
  followed_by: number;
  /** Those of them in steps after its own. */
  followed_later: number;
}

export interface CausePlace {
  step: number;
  rank: number;
  node: number;
}

export interface Coverage {
  pairs: number;
  matched: number;
  unmatched_problem: number;
  unmatched_benchmark: number;
  one_sided: number;
  failed: FailedPair[];
}

export interface FailedPair {
  step: number;
  rank: number;
  error: string | null;
}

/** GET api/databases/{db}/ranks – ranks that look alike are one row. */
export interface RankStrip {
  steps: number[];
  rows: StripRow[];
  /** The first step in which anything diverges. */
  onset: number | null;
}

export interface StripRow {
  ranks: number[];
  /** In the order of the steps; null where there is no such pair. */
  cells: (StripCell | null)[];
}

export interface StripCell {
  look: "agrees" | "low" | "middle" | "high" | "unscored" | "failed" | "missing";
  worst: number | null;
  divergent: number;
}

/** GET api/databases/{db}/nodes?step=&rank=&q=&scope=pair|rank|all&sort=&descending=&offset=&limit= */
export interface NodeTable {
  total: number;
  offset: number;
  rows: NodeRow[];
  /** Steps and ranks asked before the time was over, of all. */
  searched: number;
  pairs: number;
  /** Words of the query that no name of this step and rank has. */
  unknown: UnknownWord[];
}

export interface UnknownWord {
  word: string;
  /** What comes nearest to it among the names. */
  nearest: string[];
}

/** A matched pair by its problem node, or an unmatched node. */
export interface NodeRow {
  step: number;
  rank: number;
  module: string | null;
  node: Node;
  partner: string | null;
}
