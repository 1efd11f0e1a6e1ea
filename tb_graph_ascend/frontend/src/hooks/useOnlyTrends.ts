/* A folder that holds trends and no comparison opens on its trends. */

import { useQuery } from "@tanstack/react-query";
import { useEffect } from "react";

import { trendsQuery } from "../api/trends";
import type { Databases } from "../api/types";
import { NOWHERE, useTrends } from "../state/trends";

export function useOnlyTrends(databases: Databases | undefined): void {
  const first = useQuery(trendsQuery()).data?.runs[0]?.id;
  const { run, set } = useTrends();
  const alone = databases?.databases.length === 0;
  useEffect(() => {
    if (alone && first !== undefined && run === null) set({ ...NOWHERE, run: first });
  }, [alone, first, run, set]);
}
