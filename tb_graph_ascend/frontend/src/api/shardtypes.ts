/* What each rank holds of a joined value. */

import type { Measure, Side, ValuePair } from "./types";

/** GET api/databases/{db}/nodes/{id}/shards – the joined values of a node and its partner. */
export interface NodeShards {
  values: JoinedValue[];
}

export interface JoinedValue {
  id: number;
  side: Side;
  role: ValuePair["role"];
  path: string;
  /** Whether its numbers are exact, joined as the user told, only bounds, or by an assumed layout. */
  trust: "exact" | "told" | "bounded" | "assumed" | null;
  /** Innermost axis first. */
  layout: AxisLayout[];
  /** Empty where nothing about the value differs. */
  shards: Shard[];
}

export interface AxisLayout {
  axis: string;
  size: number;
  /** Repeated, cut along `dim`, part of a sum, part of a mean, part with elements of its own. */
  kind: "R" | "S" | "P" | "A" | "D";
  dim: number | null;
}

export interface Shard {
  rank: number;
  place: Record<string, number>;
  entry: string;
  shape: number[] | null;
  max: Measure;
  min: Measure;
  mean: Measure;
  norm: Measure;
  checksum: string | null;
  file: string | null;
  dump_dir: string;
  guilty: boolean;
}
