/* What the page decides by the reasons of findings: every code has to be here, or tsc says so. */

import type { Finding, Reason } from "../api/types";
import { SAYS_WHY, FED, REASON_KINDS } from "../i18n/reasonkinds";

type Kinds = typeof REASON_KINDS;
/** The codes of reasons that are said of findings. */
export type FindingCode = { [Code in keyof Kinds]: Kinds[Code] extends "finding" ? Code : never }[keyof Kinds];

/** Whether a reason holds in every place of a cause (what the call is given) or where it was found (what it puts out). */
const HOLDS: Record<FindingCode, "everywhere" | "there"> = {
  introduced: "there",
  introduced_beyond: "there",
  introduced_inside: "there",
  leaves_values: "there",
  drift: "there",
  first_inexact: "there",
  elements_moved: "there",
  begins_at_token: "there",
  amplified_at: "there",
  explained: "there",
  extra_calls: "everywhere",
  missing_calls: "everywhere",
  extra_replaced: "everywhere",
  missing_replaced: "everywhere",
  called_earlier: "everywhere",
  called_later: "everywhere",
  extra_inside: "there",
  missing_inside: "there",
  heals: "there",
  calls_beside: "there",
  in_place_of: "there",
  input_differs: "there",
  rewired: "there",
  read_before: "there",
  fed_otherwise: "everywhere",
  batch_differs: "there",
  batch_rows: "there",
  batch_shaped: "there",
  rows_differ: "there",
  unrecorded_differs: "there",
  integers_differ: "there",
  parameter_differs: "there",
  rewritten: "there",
  rewritten_on: "there",
  rewritten_there: "there",
  gradients_kept: "there",
  gradients_cleared: "there",
  updated_alone: "everywhere",
  tied_there: "everywhere",
  tied_here: "everywhere",
  optimizer: "there",
  hidden_by_infinity: "there",
  fused_away: "there",
  handed_on: "there",
  nonfinite_made: "there",
  nonfinite_first: "there",
  nonfinite_follows: "there",
  argument_differs: "everywhere",
  mode_differs: "everywhere",
  precision_differs: "there",
  partner_missing: "there",
  collective_order: "there",
  checkpoint_recomputed: "there",
  default_differs: "there",
  replica_differs: "there",
  misplaced: "there",
  not_reduced: "there",
  other_axis: "there",
  ranks_conflict: "there",
  partial_used: "there",
  gradients_scaled: "there",
  updates_differ: "there",
  same_of: "there",
  update_alone: "there",
  shard_differs: "there",
  on_ranks: "there",
};

/** Whether it says more exactly than the kind of a finding what it is. */
const TELLS: Record<FindingCode, boolean> = {
  introduced: false,
  introduced_beyond: false,
  introduced_inside: false,
  leaves_values: false,
  drift: false,
  first_inexact: false,
  elements_moved: false,
  begins_at_token: false,
  amplified_at: false,
  explained: false,
  extra_calls: true,
  missing_calls: true,
  extra_replaced: true,
  missing_replaced: true,
  called_earlier: true,
  called_later: true,
  extra_inside: false,
  missing_inside: false,
  heals: false,
  calls_beside: false,
  in_place_of: false,
  input_differs: false,
  rewired: true,
  read_before: true,
  fed_otherwise: true,
  batch_differs: true,
  batch_rows: true,
  batch_shaped: true,
  rows_differ: true,
  unrecorded_differs: false,
  integers_differ: false,
  parameter_differs: false,
  rewritten: false,
  rewritten_on: false,
  rewritten_there: false,
  gradients_kept: false,
  gradients_cleared: false,
  updated_alone: true,
  tied_there: true,
  tied_here: true,
  optimizer: true,
  hidden_by_infinity: false,
  fused_away: false,
  handed_on: false,
  nonfinite_made: false,
  nonfinite_first: false,
  nonfinite_follows: false,
  argument_differs: true,
  mode_differs: true,
  precision_differs: false,
  partner_missing: false,
  collective_order: false,
  checkpoint_recomputed: false,
  default_differs: false,
  replica_differs: false,
  misplaced: false,
  not_reduced: false,
  other_axis: false,
  ranks_conflict: false,
  partial_used: false,
  gradients_scaled: false,
  updates_differ: false,
  same_of: false,
  update_alone: false,
  shard_differs: false,
  on_ranks: false,
};

/** Whether a reason holds in every place of its cause. */
export function holdsEverywhere({ code }: Reason): boolean {
  return isOfFindings(code) && HOLDS[code] === "everywhere";
}

/** Whether the first reason explains the difference that is told below it, or says that nothing recorded does. */
export function saysWhy(reasons: readonly Reason[]): boolean {
  return SAYS_WHY.has(reasons[0]?.code ?? "");
}

/** Whether a finding begins before its call, which only reads what differs. */
export function isFed({ kind, reasons }: Pick<Finding, "kind" | "reasons">): boolean {
  return kind === "input_differs" && FED.has(reasons[0]?.code ?? "");
}

/** Whether a reason says what its finding is. */
export function tellsKind({ code }: Reason): boolean {
  return isOfFindings(code) && TELLS[code];
}

function isOfFindings(code: Reason["code"]): code is FindingCode {
  return REASON_KINDS[code] === "finding";
}
