/* Which numbers the table of values shows for a task, and where each comes from. */

import type { Database, ErrorOf, Measure, Value, ValuePair } from "../api/types";
import { difference, relativeError } from "../text/numbers";

export interface Column {
  /** Key of the heading in the texts. */
  key: string;
  /** A number, or a text such as a checksum or an argument. */
  of: (value: ValuePair) => Measure | { text: string };
  /** The number of the other run, where it stands beside it. */
  beside?: (value: ValuePair) => Measure;
  /** What the number is of, where that changes from row to row. */
  part?: (value: ValuePair) => ErrorOf | null;
}

const PROBLEM: Column = { key: "problemNorm", of: ({ problem }) => told(problem), beside: ({ benchmark }) => numberOf(benchmark) };
const BENCHMARK: Column = { key: "benchmarkNorm", of: ({ benchmark }) => told(benchmark), beside: ({ problem }) => numberOf(problem) };
const DIFFERENCE: Column = {
  key: "normDifference",
  of: ({ problem, benchmark }) => difference(numberOf(problem), numberOf(benchmark)),
};
const RELATIVE: Column = { key: "relative", of: relativeOf };
const RELATIVE_PART: Column = { ...RELATIVE, part: ({ error, error_of: part }) => (error === 0 ? null : part) };
const COSINE: Column = { key: "cosine", of: ({ measures }) => measures.Cosine ?? null };
const MAX_ABS: Column = { key: "maxAbs", of: ({ measures }) => measures.MaxAbsErr ?? null };

/** What a single graph tells of a value, its norm first. */
const OWN: Column[] = [
  { key: "norm", of: ({ problem }) => told(problem) },
  ...(["min", "max", "mean"] as const).map((key) => ({ key, of: ({ problem }: ValuePair) => problem?.[key] ?? null })),
];

/** Columns between shape and score. */
export function columnsFor(task: Database["task"], comparison: boolean): Column[] {
  if (!comparison) return task === "md5" ? [{ ...checksum("problem"), key: "checksum" }] : OWN;
  if (task === "md5") return [checksum("problem"), checksum("benchmark")];
  if (task === "structure") return [];
  return task === "tensor"
    ? [PROBLEM, BENCHMARK, COSINE, MAX_ABS, RELATIVE]
    : [PROBLEM, BENCHMARK, DIFFERENCE, RELATIVE_PART];
}

/** The error that the score uses; of two plain numbers, which have no tolerance, their own. Of two texts, or of tensors
 * of other shapes, there is none: that they differ is told beside them. */
function relativeOf({ problem, benchmark, error, error_of: part, differs }: ValuePair): Measure {
  const ours = argument(problem);
  const theirs = argument(benchmark);
  const isText = problem?.dtype === null && benchmark?.dtype === null && (ours === null || theirs === null);
  if (isText || (part === null && (differs.includes("shape") || differs.includes("type")))) return null;
  return ours === null || theirs === null ? error : relativeError(ours, theirs);
}

/** Tells a value of a node from its others: each run may have one by the same path that the other lacks. */
export function keyOf({ role, path, problem, benchmark }: ValuePair): string {
  const alone = problem && benchmark ? "" : ` ${problem ? "problem" : "benchmark"}`;
  return `${nameOf({ role, path })}${alone}`;
}

/** A value as its row calls it. */
export function nameOf({ role, path }: Pick<ValuePair, "role" | "path">): string {
  return [role, path].filter(Boolean).join(".");
}

/** Whether a row shows an argument that is no tensor, which has no norm. */
export function isArgument({ problem, benchmark }: ValuePair): boolean {
  const value = problem ?? benchmark;
  return value !== null && value.dtype === null && value.scalar !== null;
}

/** The norm of a tensor, the number of a plain argument, else the argument as text. */
function told(value: Value | null): Measure | { text: string } {
  if (!value) return null;
  const plain = argument(value);
  if (plain !== null) return plain;
  return value.scalar !== null && value.dtype === null ? { text: value.scalar.replace(/^"(-?Infinity|NaN)"$/, "$1") } : value.norm;
}

function numberOf(value: Value | null): Measure {
  return argument(value) ?? value?.norm ?? null;
}

/** The number of an argument that is no tensor. */
function argument(value: Value | null): number | null {
  if (value?.scalar == null || value.dtype !== null) return null;
  const number = Number(value.scalar);
  return value.scalar.trim() === "" || Number.isNaN(number) ? null : number;
}

function checksum(side: "problem" | "benchmark"): Column {
  return {
    key: side === "problem" ? "problemValue" : "benchmarkValue",
    of: (value) => ({ text: value[side]?.checksum ?? value[side]?.scalar ?? "–" }),
  };
}
