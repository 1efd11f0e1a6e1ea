/* Opens a result anew when its file was replaced, for its answer and rows are of another run; and asks
 * anew what another page mapped. */

import { useEffect, useRef } from "react";

import { queryClient } from "../api/queries";
import type { Databases } from "../api/types";
import { guarded, openDatabase } from "../state/actions";
import { followMappings } from "../state/mapping";
import { useApp } from "../state/store";

export function useReplaced(databases: Databases | undefined): void {
  const db = useApp((state) => state.db);
  const seen = useRef<{ db: string; version: string; mapped: number | null } | null>(null);
  const file = databases?.databases.find(({ id }) => id === db);
  const version = file?.error === null ? `${file.modified} ${file.size}` : null;
  const mapped = file?.mapped ?? null;
  useEffect(() => {
    if (db === null || version === null) return;
    const before = seen.current;
    seen.current = { db, version, mapped };
    if (before?.db !== db) return;
    if (before.version !== version) {
      queryClient.removeQueries({ queryKey: ["db", db] });
      void openDatabase(db, undefined, { replaced: true });
    } else if (before.mapped !== mapped) {
      const follow = (): Promise<void> => guarded(follow, () => followMappings(db));
      void follow();
    }
  }, [db, version, mapped]);
}
