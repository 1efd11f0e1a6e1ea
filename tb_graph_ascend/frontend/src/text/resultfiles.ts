/* What result files are called in a list: when they were built, or what they are called, and which runs
 * they compare. What tells them apart comes first, for the end is what a narrow list cuts off. */

import type { DatabaseEntry } from "../api/types";
import { runName } from "./runs";

const NAMED_BY_TIME = /^(.*?)_(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)\.vis\.db$/;

export function resultFileLabel(path: string, now = new Date()): string {
  const [, stem, year, month, day, hour, minute, second] = NAMED_BY_TIME.exec(path) ?? [];
  if (stem === undefined) return path;
  const date = [...(year === String(now.getFullYear()) ? [] : [year]), month, day].join("-");
  return `${date} ${hour}:${minute}:${second} · ${stem}`;
}

/** `run-fp16 ↔ run-fp32`, each from the first folder on that differs; the one run of a single graph. */
export function comparedLabel({ problem, benchmark }: Pick<DatabaseEntry, "problem" | "benchmark">): string {
  if (problem === null) return "";
  if (benchmark === null) return runName(problem, "").name.split("/").pop() ?? "";
  return `${runName(problem, benchmark).name} ↔ ${runName(benchmark, problem).name}`;
}

/** The whole line of a file in the list. */
export function entryLabel(entry: DatabaseEntry, now = new Date()): string {
  const label = resultFileLabel(entry.path, now);
  if (entry.error !== null) return `${label} – ${entry.error}`;
  const compared = comparedLabel(entry);
  return compared === "" ? label : `${label} · ${compared}`;
}
