/* The messages about dumps and builds. */

/** GET api/dumps – dumps below the log folders that can be built. */
export interface Dumps {
  dumps: DumpEntry[];
  /** Folders that a result may be written to; the first is the default. */
  outputs: string[];
}

export interface DumpEntry {
  /** Path for people and for BuildRequest. */
  path: string;
  granularity: "rank" | "step" | "root";
  steps: number[];
  ranks: number[];
}

/** POST api/builds with BuildRequest → Build; one at a time, a second is 409. */
export interface BuildRequest {
  problem: string;
  /** null draws a single graph. */
  benchmark: string | null;
  output?: string | null;
  overflow_check?: boolean;
  fuzzy_match?: boolean;
  threshold?: number | null;
  /** Paths below the log folders. */
  layer_mapping?: string | null;
  manual_mapping?: string | null;
}

/** GET api/databases/{db}/build – how a result was built, with its manual pairs. */
export interface BuildWish {
  problem: string | null;
  benchmark: string | null;
  output: string | null;
  overflow_check: boolean;
  fuzzy_match: boolean;
  threshold: number;
  layer_mapping: string | null;
  manual_mapping: string | null;
  /** Paths that lie outside the log folders. */
  outside: string[];
}

/** What is done with a pair, in this order; a single graph is read and written. */
export const PHASES = ["reading", "matching", "comparing", "diagnosing", "writing"] as const;
export type Phase = (typeof PHASES)[number];

/** GET api/builds → {builds: Build[]}; GET api/builds/{job} → Build; DELETE api/builds/{job} (JSON
 *  body {}) cancels → Build.
 *  GET api/builds/{job}/events – server-sent events: each `message` carries a Build, the last one
 *  has a state other than "running". */
export interface Build {
  id: string;
  state: "running" | "done" | "failed" | "cancelled";
  problem: string;
  benchmark: string | null;
  /** Pairs done, and in all (0 while planning). */
  done: number;
  total: number;
  /** The pairs that are worked on, and what is being done with each. */
  running: { step: number; rank: number; phase: Phase }[];
  /** What each finished pair said, one line each; failures in full. */
  log: string[];
  /** Why the build failed, in full. */
  error: string | null;
  /** Token of the new database once it is done. */
  database: string | null;
}
