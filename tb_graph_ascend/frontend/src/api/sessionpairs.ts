/* Manual pairs of files whose folder cannot be written: they live in this tab. The server is sent
 * them once and each request carries their name; a server that was started anew is sent them again. */

import type { MappedPair, Mappings } from "./types";

const PREFIX = "tb_graph_ascend.pairs.";
const memory = new Map<string, MappedPair[]>();

/** Take over what the server answered: kept here only when it could not save. */
export function keepPairs(db: string, mappings: Mappings): void {
  const pairs = mappings.saved ? [] : mappings.pairs;
  memory.set(db, pairs);
  forgetPairSet(db);
  try {
    if (pairs.length === 0) window.sessionStorage.removeItem(PREFIX + db);
    else window.sessionStorage.setItem(PREFIX + db, JSON.stringify(pairs));
  } catch {
    // Storage may be forbidden in a frame; the pairs then last until reload.
  }
}

/** Sets that the server was sent, by database: a header holds a name, not ten thousand pairs. */
const names = new Map<string, Promise<string>>();

/** The name that requests about a database carry, sent by `keep` first; null without pairs. */
export function pairsHeader(
  db: string,
  keep: (pairs: MappedPair[]) => Promise<string>,
): Promise<string> | null {
  const pairs = memory.get(db) ?? recall(db);
  if (pairs.length === 0) return null;
  const known = names.get(db);
  if (known) return known;
  const sent = keep(pairs);
  names.set(db, sent);
  sent.catch(() => forgetPairSet(db));
  return sent;
}

/** Have the pairs of a database sent again with the next request. */
export function forgetPairSet(db: string): void {
  names.delete(db);
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
