/* Which numbers the table of values shows for a task, and where each comes from. */

import type { Database, Measure, ValuePair } from "../api/types";
import { difference } from "../graph/numbers";

export interface Column {
  /** Key of the heading in the texts. */
  key: string;
  /** A number, or a text such as a checksum or an argument. */
  of: (value: ValuePair) => Measure | { text: string };
}

const PROBLEM_NORM: Column = { key: "problemNorm", of: (value) => own(value, "problem") };
const BENCHMARK_NORM: Column = { key: "benchmarkNorm", of: (value) => own(value, "benchmark") };
const RELATIVE: Column = { key: "relative", of: (value) => value.error };
const DIFFERENCE: Column = {
  key: "difference",
  of: ({ problem, benchmark }) => difference(problem?.norm ?? null, benchmark?.norm ?? null),
};
const COSINE: Column = { key: "cosine", of: ({ measures }) => measures.Cosine ?? null };
const MAX_ABS: Column = { key: "maxAbs", of: ({ measures }) => measures.MaxAbsErr ?? null };

/** Columns between shape and score. */
export function columnsFor(task: Database["task"], comparison: boolean): Column[] {
  if (!comparison) return task === "md5" ? [checksum("problem")] : [PROBLEM_NORM];
  if (task === "md5") return [checksum("problem"), checksum("benchmark")];
  if (task === "structure") return [];
  const norms = [PROBLEM_NORM, BENCHMARK_NORM];
  return task === "tensor"
    ? [...norms, COSINE, MAX_ABS, RELATIVE]
    : [...norms, DIFFERENCE, RELATIVE];
}

function own(value: ValuePair, side: "problem" | "benchmark"): Measure | { text: string } {
  const one = value[side];
  if (!one) return null;
  return one.scalar !== null && one.dtype === null ? { text: one.scalar } : one.norm;
}

function checksum(side: "problem" | "benchmark"): Column {
  return {
    key: side === "problem" ? "problemValue" : "benchmarkValue",
    of: (value) => ({ text: value[side]?.checksum ?? value[side]?.scalar ?? "–" }),
  };
}
