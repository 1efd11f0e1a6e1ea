/* The messages between server and interface: one interface per resource.
 * Numbers that are not finite arrive as the strings "nan", "inf" and "-inf". */

export type Side = "problem" | "benchmark";
export type Measure = number | "nan" | "inf" | "-inf" | null;

/** GET api/databases – every *.vis.db below the log folders, newest first. */
export interface Databases {
  databases: DatabaseEntry[];
  searched: string[];
  read_only: boolean;
}

export interface DatabaseEntry {
  /** Opaque token, safe in a path segment. */
  id: string;
  /** Path below the log folder, for people. */
  path: string;
  size: number;
  modified: number;
  /** Why the file cannot be opened; null when it can. */
  error: string | null;
}

/** GET api/databases/{db} */
export interface Database {
  id: string;
  path: string;
  task: "statistics" | "tensor" | "md5" | "structure";
  comparison: boolean;
  tool_version: string;
  created: string;
  problem: string;
  benchmark: string | null;
  overflow_checked: boolean;
  /** False for files that another tool wrote. */
  writable: boolean;
  read_only: boolean;
  summary: Reason[];
  pairs: Pair[];
}

/** One (step, rank); a cell of the matrix. */
export interface Pair {
  step: number;
  rank: number;
  status: "ok" | "failed" | "missing";
  error: string | null;
  worst: number | null;
  divergent: number;
  matched: number;
  unmatched_problem: number;
  unmatched_benchmark: number;
}

/** GET api/databases/{db}/pairs/{step}/{rank} */
export interface PairGraphs {
  step: number;
  rank: number;
  status: Pair["status"];
  error: string | null;
  problem: Graph | null;
  benchmark: Graph | null;
}

export interface Graph {
  id: number;
  side: Side;
  framework: string | null;
  level: string | null;
  dump_dir: string | null;
  micro_steps: number;
  nodes: number;
  root: Node;
}

export type NodeKind = "root" | "module" | "api" | "collection";

export interface Node {
  id: number;
  graph: number;
  side: Side;
  parent: number | null;
  position: number;
  order: number;
  depth: number;
  /** Number of children. */
  children: number;
  name: string;
  label: string;
  kind: NodeKind;
  direction: "forward" | "backward" | null;
  recomputed: boolean;
  micro_step: number;
  /** Partner's node id; null = unmatched (or a single graph). */
  match: number | null;
  /** Matched: name | aligned | fuzzy | mapping | manual. Unmatched: absent | parent_unmatched | … */
  match_reason: string | null;
  score: number | null;
  input_score: number | null;
  introduced: number | null;
  verdict: "pass" | "warning" | "error" | null;
  overflow: "medium" | "high" | "critical" | null;
  worst_below: number | null;
  divergent_below: number;
  /** Node that the diagnosis names as the cause. */
  source: number | null;
  reasons: Reason[];
}

/** A fact in words of the interface's language: `code` chooses the sentence, the rest fills it. */
export interface Reason {
  code: string;
  [argument: string]: string | number | boolean | null;
}

/** GET api/databases/{db}/nodes/{id}/children?offset=0&limit=500 */
export interface Children {
  parent: number;
  total: number;
  offset: number;
  children: Node[];
}

/** GET api/databases/{db}/nodes/{id}/path – from the root down to the node itself. */
export interface Path {
  path: Node[];
}

/** GET api/databases/{db}/nodes/{id} – everything the details panel shows. */
export interface NodeDetails {
  node: Node;
  partner: Node | null;
  /** Worst first inside each role; roles in the order input, parameters, parameters_grad, output. */
  values: ValuePair[];
  stack: { problem: string[] | null; benchmark: string[] | null };
  communication: CommunicationLink[];
}

export interface ValuePair {
  role: "input" | "parameters" | "parameters_grad" | "output";
  /** Position or keyword, nested by dots. */
  path: string;
  problem: Value | null;
  benchmark: Value | null;
  score: number | null;
  /** Relative error, as the score uses it. */
  error: Measure;
  worst: boolean;
  /** Named as users know them: "Max diff", "NormRelativeErr", "Cosine", … */
  measures: Record<string, Measure>;
  /** What differs besides the numbers: "dtype", "shape", "requires_grad", "type". */
  differs: string[];
  /** What `error` is of; "sketch": of the elements, estimated. Null: of a dtype, a checksum or the like. */
  error_of: ErrorOf | null;
}

export type ErrorOf = "max" | "min" | "mean" | "norm" | "elements" | "sketch";

export interface Value {
  id: number;
  type: string;
  dtype: string | null;
  shape: number[] | null;
  max: Measure;
  min: Measure;
  mean: Measure;
  norm: Measure;
  requires_grad: boolean | null;
  checksum: string | null;
  file: string | null;
  /** JSON text of a non-tensor argument. */
  scalar: string | null;
}

export interface CommunicationLink {
  kind: string;
  peer_rank: number;
  peer_node: number | null;
  peer_name: string | null;
}

/** GET api/databases/{db}/findings?step=&rank= – best suspect first; without step and rank: all. */
export interface Findings {
  findings: Finding[];
  threshold: number;
}

export interface Finding {
  id: number;
  step: number;
  rank: number;
  kind: string;
  node: Node;
  score: number | null;
  input_score: number | null;
  introduced: number | null;
  reasons: Reason[];
  propagated_to: number;
  /** Where else the same cause showed. */
  places: FindingPlace[];
}

export interface FindingPlace {
  step: number;
  rank: number;
  node: number;
  name: string;
}

/** GET api/databases/{db}/nodes/{node}/trace */
export interface Trace {
  step: number;
  rank: number;
  finding: number | null;
  /** Whether the node itself differs from its partner. */
  differs: boolean;
  hops: Hop[];
}

export interface Hop {
  node: number;
  name: string;
  side: string;
  order: number;
  score: number | null;
  input_score: number | null;
  link: "start" | "partner" | "input" | "inside" | "forward" | "cause";
  /** By "input": the key under which the node before read what this one put out under `output`. */
  value: string | null;
  output: string | null;
  exact: boolean;
  /** False for a call that one run alone makes. */
  matched: boolean;
}

/** GET api/databases/{db}/nodes/{node}/flow – what fed a node, and what it fed. */
export interface Flow {
  producers: FlowLink[];
  consumers: FlowLink[];
}

/** A value that passed from one call to another. */
export interface FlowLink {
  /** The other end. */
  node: Node;
  /** Place of the value among what its reader was given, and its id there. */
  path: string;
  value: number;
  /** False where equal values tell it. */
  exact: boolean;
}

/** GET api/databases/{db}/pairs/{step}/{rank}/search?q=&regex=0&case=0&side=&offset=0&limit=200 */
export interface SearchHits {
  total: number;
  offset: number;
  hits: Node[];
}

/** GET api/databases/{db}/pairs/{step}/{rank}/nodes
 *  ?show=divergent|overflow|unmatched|propagated &source= &side= &direction= &kind= &verdict=
 *  &min_score= &name= &sort=order|score|introduced|name &descending=0 &offset=0&limit=200 */
export interface NodeList {
  total: number;
  offset: number;
  nodes: Node[];
}

/** GET api/databases/{db}/mappings */
export interface Mappings {
  /** False when the folder cannot be written: the mapping then lives in the session only. */
  saved: boolean;
  file: string;
  pairs: MappedPair[];
  /** How many of them came or went since the build. */
  changed: number;
}

/** One manual pair; the same shape in <name>.mapping.json. Names are entry names of the dump. */
export interface MappedPair {
  step: number | null;
  rank: number | null;
  problem: string;
  benchmark: string;
  descendants: boolean;
}

/** POST api/databases/{db}/mappings with {problem, benchmark: node ids, descendants} → MappingResult
 *  DELETE api/databases/{db}/mappings with {problem: node id} → MappingResult
 *  PATCH api/databases/{db}/mappings with {add, remove: MappedPair[]} (undo, redo, proposals)
 *  PUT api/databases/{db}/mappings with {pairs: MappedPair[]} (import) → MappingResult */
export interface MappingResult {
  mappings: Mappings;
  /** Nodes whose state changed, both sides. */
  nodes: Node[];
  /** Pairs below that could not be mapped, with the reason. */
  refused: { problem: string; benchmark: string | null; reason: Reason }[];
  /** The pairs by which the mapping changed: what takes it back. */
  added: MappedPair[];
  removed: MappedPair[];
}

/** POST api/pair-sets with {pairs} – lays down the pairs of a session; requests carry the name. */
export interface PairSet {
  id: string;
}

/** GET api/databases/{db}/pairs/{step}/{rank}/proposals */
export interface Proposals {
  proposals: Proposal[];
}

/** Unmatched modules that seem to be the same under another name. */
export interface Proposal {
  /** Those of the first place. */
  problem: Node;
  benchmark: Node;
  reasons: Reason[];
  places: number;
  /** What mapping all of them adds. */
  pairs: MappedPair[];
}

/** Every answer that is not 2xx. */
export interface Failure {
  error: string;
  /** What to do next. */
  hint: string | null;
  /** Of a refused query: both as a code with facts, for the words of the interface's language. */
  reason?: Reason;
}

/** GET api/databases/{db}/nodes/{id}/across – the same node in every step and rank. */
export interface Across {
  name: string;
  side: Side;
  /** One per (step, rank), ordered by step and rank; `node` is null where it does not occur. */
  cells: AcrossCell[];
}

export interface AcrossCell {
  step: number;
  rank: number;
  node: number | null;
  score: number | null;
  input_score: number | null;
  verdict: Node["verdict"];
  overflow: Node["overflow"];
}

/** GET api/databases/{db}/nodes/{id}/values/{value}/picture?bins=64&cells=64
 *  – from the dumped tensors; 409 with a hint where they were not dumped or lie elsewhere now. */
export interface Picture {
  /** Both sides share their edges, so they can be drawn over each other. */
  problem: Histogram | null;
  benchmark: Histogram | null;
  /** Of |problem − benchmark|; its edges rise by a constant factor. */
  error: Histogram | null;
  heat: Heat | null;
}

export interface Histogram {
  scale: "linear" | "log";
  /** One more than counts. */
  edges: number[];
  counts: number[];
  /** Elements that fit no bin: exact zeros (log scale only) and NaN or Inf. */
  zeros: number;
  nonfinite: number;
}

/** Where the error sits: the tensor as a matrix whose columns are its last dimension. */
export interface Heat {
  /** Of the tensor. */
  rows: number;
  columns: number;
  /** Largest |problem − benchmark| in each cell, row by row; one-sided NaN or Inf is "inf". */
  cells: Measure[][];
  largest: Measure;
}

/** GET api/databases/{db}/export/{table}.{csv|json} – whole tables as a download.
 *  pairs | findings?step=&rank= | mappings | nodes (also xlsx) with the arguments of NodeTable
 *  GET api/databases/{db}/nodes/{id}/export/values.{csv|json} */
