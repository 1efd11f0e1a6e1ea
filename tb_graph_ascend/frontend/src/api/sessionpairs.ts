/* Manual pairs of files whose folder cannot be written: they live in this tab and travel with each
 * request, so that the server stays stateless. */

import type { MappedPair, Mappings } from "./types";

const PREFIX = "tb_graph_ascend.pairs.";
const memory = new Map<string, MappedPair[]>();

/** Take over what the server answered: kept here only when it could not save. */
export function keepPairs(db: string, mappings: Mappings): void {
  const pairs = mappings.saved ? [] : mappings.pairs;
  memory.set(db, pairs);
  try {
    if (pairs.length === 0) window.sessionStorage.removeItem(PREFIX + db);
    else window.sessionStorage.setItem(PREFIX + db, JSON.stringify(pairs));
  } catch {
    // Storage may be forbidden in a frame; the pairs then last until reload.
  }
}

/** The header that carries a database's pairs; empty when it has none. */
export function pairsHeader(db: string): Record<string, string> {
  const pairs = memory.get(db) ?? recall(db);
  return pairs.length > 0 ? { "X-Manual-Pairs": base64Url(JSON.stringify(pairs)) } : {};
}

function recall(db: string): MappedPair[] {
  let pairs: MappedPair[] = [];
  try {
    const text = window.sessionStorage.getItem(PREFIX + db);
    if (text !== null) pairs = JSON.parse(text) as MappedPair[];
  } catch {
    pairs = [];
  }
  memory.set(db, pairs);
  return pairs;
}

function base64Url(text: string): string {
  const bytes = Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte));
  return btoa(bytes.join("")).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}
