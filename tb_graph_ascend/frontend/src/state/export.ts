/* Tables as CSV or JSON, mapping files, and the browser's download. */

import type { Finding, MappedPair, ValuePair } from "../api/types";
import { fullNumber } from "../graph/numbers";

/** Hand a text or picture to the person as a file. */
export function download(name: string, content: string | Blob, type: string): void {
  const blob = typeof content === "string" ? new Blob([content], { type }) : content;
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}

type Cell = string | number | boolean | null | undefined;

/** RFC 4180; a leading =, +, − or @ in text is quoted so that spreadsheets run no formula. */
export function toCsv(header: readonly string[], rows: readonly (readonly Cell[])[]): string {
  return `${[header, ...rows].map((row) => row.map(csvCell).join(",")).join("\r\n")}\r\n`;
}

export function findingsCsv(findings: readonly Finding[]): string {
  const header = ["step", "rank", "kind", "node", "score", "input_score", "introduced", "propagated_to", "reasons"];
  const rows = findings.map((one) => [
    one.step,
    one.rank,
    one.kind,
    one.node.name,
    one.score,
    one.input_score,
    one.introduced,
    one.propagated_to,
    one.reasons.map((reason) => JSON.stringify(reason)).join("; "),
  ]);
  return toCsv(header, rows);
}

const STATISTICS = ["max", "min", "mean", "norm"] as const;

export function valuesCsv(values: readonly ValuePair[]): string {
  const measures = [...new Set(values.flatMap((value) => Object.keys(value.measures)))];
  const sides = ["problem", "benchmark"] as const;
  const perSide = sides.flatMap((side) =>
    ["dtype", "shape", ...STATISTICS, "checksum"].map((name) => `${side} ${name}`),
  );
  const rows = values.map((value) => [
    `${value.role}.${value.path}`,
    ...sides.flatMap((side) => [
      value[side]?.dtype,
      value[side]?.shape?.join("×"),
      ...STATISTICS.map((name) => fullNumber(value[side]?.[name])),
      value[side]?.checksum,
    ]),
    ...measures.map((name) => fullNumber(value.measures[name])),
    value.score,
  ]);
  return toCsv(["value", ...perSide, ...measures, "score"], rows);
}

/** The text of <name>.mapping.json. */
export function mappingFile(pairs: readonly MappedPair[]): string {
  return `${JSON.stringify({ version: 1, pairs }, null, 2)}\n`;
}

/** The pairs of a mapping file; null when it is none. */
export function readMappingFile(text: string): MappedPair[] | null {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return null;
  }
  const pairs = Array.isArray(parsed) ? parsed : (parsed as { pairs?: unknown } | null)?.pairs;
  return Array.isArray(pairs) && pairs.every(isMappedPair) ? pairs : null;
}

function isMappedPair(value: unknown): value is MappedPair {
  if (typeof value !== "object" || value === null) return false;
  const { problem, benchmark } = value as Partial<MappedPair>;
  return typeof problem === "string" && typeof benchmark === "string";
}

function csvCell(cell: Cell): string {
  if (cell === null || cell === undefined) return "";
  if (typeof cell !== "string") return String(cell);
  const safe = /^[=+@]|^-(?![\d.]|Inf)/.test(cell) ? `'${cell}` : cell;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
