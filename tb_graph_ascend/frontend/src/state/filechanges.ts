/* What was asked of a result file is forgotten once the file is another, whether it is shown or not; the one
 * that is shown is opened anew. What another page mapped is asked for anew. */

import { queryClient, refreshDatabase } from "../api/queries";
import type { DatabaseEntry } from "../api/types";
import { guarded, openDatabase } from "./actions";
import { fileAhead } from "./ahead";
import { followMappings } from "./mapping";

interface Known {
  version: string;
  mapped: number | null;
}

/** What the list said last of each file that can be opened. */
const known = new Map<string, Known>();

/** Take in a list of the files. */
export function followFiles(listed: readonly DatabaseEntry[]): void {
  for (const { id, error, modified, size, mapped } of listed) {
    if (error !== null) continue;
    const before = known.get(id);
    const now = { version: `${modified} ${size}`, mapped };
    known.set(id, now);
    if (before) follow(id, before, now);
  }
}

function follow(id: string, before: Known, now: Known): void {
  const shown = id === fileAhead();
  if (before.version !== now.version) {
    queryClient.removeQueries({ queryKey: ["db", id] });
    if (shown) void openDatabase(id, undefined, { replaced: true });
  } else if (before.mapped !== now.mapped) {
    if (shown) void takeMappings(id);
    else void refreshDatabase(id);
  }
}

function takeMappings(db: string): Promise<void> {
  return guarded(() => takeMappings(db), () => followMappings(db));
}
