/* Mapping files, and the browser's download. */

import type { MappedPair, SharedWeight } from "../api/types";
import { useApp } from "./store";

/** Hand a text or picture to the person as a file, and say so. */
export function download(name: string, content: string | Blob, type: string): void {
  const blob = typeof content === "string" ? new Blob([content], { type }) : content;
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
  useApp.getState().set({ notice: { code: "saved", facts: { name } } });
}

/** The text of <name>.mapping.json; with weights, which a build takes as paired by hand. */
export function mappingFile(pairs: readonly MappedPair[], shared: readonly SharedWeight[] = []): string {
  const weights = shared.map(({ problem, benchmark }) => ({ problem, benchmark }));
  const content = { version: 1, pairs, ...(weights.length > 0 && { weights }) };
  return `${JSON.stringify(content, null, 2)}\n`;
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
