/* The messages between server and page, by the names that the page has for them. What they hold is
 * written from the server's OpenAPI document (`make messages`), so nothing here repeats a field.
 * Numbers that are not finite arrive as the strings "nan", "inf" and "-inf". */

import type * as sent from "./messages";

export type {
  Across,
  AcrossCell,
  AxisLayout,
  Build,
  BuildRequest,
  BuildWish,
  Builds,
  Cause,
  Certainty,
  CausePlace,
  Children,
  Claim,
  CommunicationLink,
  Counted,
  Coverage,
  DatabaseEntry,
  Databases,
  DiffRow,
  DivergentShares,
  DumpEntry,
  Dumps,
  FailedPair,
  Failure,
  Finding,
  FindingPlace,
  Findings,
  FlowLink,
  Formats,
  Graph,
  GraphBox,
  GraphEdge,
  GraphInput,
  Heat,
  Histogram,
  JoinedValue,
  LargestError,
  MappingResult,
  ModuleGraph,
  Mappings,
  Node,
  NodeDetails,
  NodeList,
  NodeRow,
  NodeShards,
  NodeTable,
  NodeTokens,
  NonfiniteStart,
  NonfiniteStarts,
  OutlineRow,
  OutlineWindow,
  Pair,
  PairGraphs,
  PairSet,
  Picture,
  PlacedHop,
  PlacedTrace,
  Profile,
  Proposal,
  Proposals,
  RailEdge,
  RankStrip,
  RowSide,
  RowWindow,
  SearchHits,
  Since,
  Shard,
  SharedWeight,
  SameCause,
  SharedWeights,
  StripCell,
  StripRow,
  TokenCell,
  TokenLine,
  UnknownWord,
  Value,
  ValuePair,
  DatabaseAnswer as Database,
  MappedPair,
  NodeFlow as Flow,
  NodePath as Path,
  StandingAnswer as Answer,
} from "./messages";

export type Side = sent.Node["side"];
export type NodeKind = sent.Node["kind"];
export type Measure = sent.Value["max"];
export type ErrorOf = NonNullable<sent.ValuePair["error_of"]>;
/** What a row says about its node. */
export type Word = sent.DiffRow["word"];
/** A fact in words of the page's language: `code` chooses the sentence, the rest fills it. */
export type Reason = sent.Node["reasons"][number];
/** Why something is refused. */
export type Refusal = sent.Refused["reason"];
/** What is being done with a pair. */
export type Phase = sent.RunningPair["phase"];

/** The phases in their order; a single graph is read and written. */
export const PHASES = [
  "reading",
  "matching",
  "comparing",
  "diagnosing",
  "writing",
] as const satisfies readonly Phase[];
