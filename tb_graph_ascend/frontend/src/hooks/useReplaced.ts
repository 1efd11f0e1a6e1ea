/* Opens a result anew when its file was replaced: its answer and rows are of another run. */

import { useEffect, useRef } from "react";

import { queryClient } from "../api/queries";
import type { Databases } from "../api/types";
import { openDatabase } from "../state/actions";
import { useApp } from "../state/store";

export function useReplaced(databases: Databases | undefined): void {
  const db = useApp((state) => state.db);
  const seen = useRef<{ db: string; version: string } | null>(null);
  const file = databases?.databases.find(({ id }) => id === db);
  const version = file?.error === null ? `${file.modified} ${file.size}` : null;
  useEffect(() => {
    if (db === null || version === null) return;
    const before = seen.current;
    seen.current = { db, version };
    if (before?.db !== db || before.version === version) return;
    queryClient.removeQueries({ queryKey: ["db", db] });
    void openDatabase(db, undefined, { replaced: true });
  }, [db, version]);
}
