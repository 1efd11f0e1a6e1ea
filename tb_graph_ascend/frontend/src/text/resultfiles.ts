/* What result files are called in a list: when they were built, or what they are called, and which runs
 * they compare. What tells them apart comes first, for the end is what a narrow list cuts off. */

import type { DatabaseEntry } from "../api/types";
import { runName } from "./runs";

const NAMED_BY_TIME = /^(.*?)_(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)\.vis\.db$/;

/** With `named` what it is called stands first: where files have unlike names, those tell them apart. */
export function resultFileLabel(path: string, now = new Date(), named = false): string {
  const [, stem, year, month, day, hour, minute, second] = NAMED_BY_TIME.exec(path) ?? [];
  if (stem === undefined) return path;
  const date = [...(year === String(now.getFullYear()) ? [] : [year]), month, day].join("-");
  const time = `${date} ${hour}:${minute}:${second}`;
  return named ? `${stem} · ${time}` : `${time} · ${stem}`;
}

/** When a file was written, as its name would say it. */
function writtenLabel({ modified }: DatabaseEntry, now: Date): string {
  const at = new Date(modified * 1000);
  const two = (number: number): string => String(number).padStart(2, "0");
  const date = [...(at.getFullYear() === now.getFullYear() ? [] : [at.getFullYear()]), two(at.getMonth() + 1), two(at.getDate())].join("-");
  return `${date} ${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}

/** A line of the list of files: which file, and what it compares or why it cannot be opened. */
export interface FileLine {
  file: string;
  holds: string;
}

/** The lines of all files. Where those of unlike runs would read alike, folders come in until they do not. */
export function fileLines(entries: readonly DatabaseEntry[], now = new Date()): Map<string, FileLine> {
  const alike = new Map<string, DatabaseEntry[]>();
  for (const entry of entries) {
    const short = comparedLabel(entry);
    alike.set(short, [...(alike.get(short) ?? []), entry]);
  }
  const told = [...alike].flatMap(([short, group]) => {
    const folders = runsOf(group) > 1 ? foldersApart(group) : null;
    return group.map((entry) => [entry, folders === null ? short : comparedLabel(entry, folders)] as const);
  });
  const labels = new Map(told.map(([{ id }, label]) => [id, label]));
  const stems = countsOf(entries.map(stemOf));
  const lines = entries.map((entry) => {
    // Stems tell apart files of unlike stems, times those of one: a rebuild has the stem of what it was made anew of.
    const named = stems.size > 1 && stems.get(stemOf(entry)) === 1;
    const file = resultFileLabel(entry.path, now, named);
    return { entry, line: { file, holds: entry.error ?? labels.get(entry.id) ?? "" } };
  });
  const read = countsOf(lines.map(({ line }) => lineText(line)));
  return new Map(
    lines.map(({ entry, line }) => {
      const isAlone = read.get(lineText(line)) === 1;
      return [entry.id, isAlone ? line : { ...line, file: `${writtenLabel(entry, now)} · ${line.file}` }];
    }),
  );
}

/** What a file is called before the time it was built at; whole for one that is called otherwise. */
function stemOf({ path }: DatabaseEntry): string {
  return NAMED_BY_TIME.exec(path)?.[1] ?? path;
}

function countsOf(texts: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1);
  return counts;
}

/** How many folders above the first that differs tell the runs of these files apart. */
function foldersApart(entries: readonly DatabaseEntry[]): number {
  const runs = runsOf(entries);
  const most = Math.max(...entries.map(({ problem }) => (problem ?? "").length));
  let folders = 0;
  while (folders < most && new Set(entries.map((entry) => comparedLabel(entry, folders))).size < runs) folders += 1;
  return folders;
}

function runsOf(entries: readonly DatabaseEntry[]): number {
  return new Set(entries.map(({ problem, benchmark }) => `${problem} ${benchmark}`)).size;
}

/** A line in one piece, as lists show it. */
export function lineText({ file, holds }: FileLine): string {
  return holds === "" ? file : `${file} · ${holds}`;
}

/** `run-fp16 ↔ run-fp32`, each from the first folder on that differs; the one run of a single graph.
 *
 * With a number of folders no name is shortened, and so many of those that both share stand before the first. */
function comparedLabel({ problem, benchmark }: Pick<DatabaseEntry, "problem" | "benchmark">, folders?: number): string {
  if (problem === null) return "";
  const whole = folders !== undefined;
  const ours = runName(problem, benchmark ?? problem, { whole });
  const above = ours.folder.split("/").filter(Boolean);
  const before = whole && folders > 0 ? above.slice(-folders).map((one) => `${one}/`).join("") : "";
  if (benchmark === null) return `${before}${ours.name}`;
  return `${before}${ours.name} ↔ ${runName(benchmark, problem, { whole }).name}`;
}
