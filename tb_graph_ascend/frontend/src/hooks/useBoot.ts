/* Starts from the address: opens its database, else the newest that can be opened. */

import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef } from "react";

import { databasesQuery } from "../api/queries";
import { openDatabase } from "../state/actions";
import { readAddress } from "../state/addressbar";
import { useApp } from "../state/store";
import { fromQuery } from "../state/url";

/** The query of all databases; the first answer opens one. */
export function useBoot() {
  const databases = useQuery(databasesQuery());
  const booted = useRef(false);
  const listed = databases.data?.databases;
  useEffect(() => {
    if (booted.current || !listed) return;
    const linked = fromQuery(readAddress());
    const asked = listed.find(({ id }) => id === linked.db);
    const chosen = asked ?? listed.find(({ error }) => error === null);
    if (!chosen) return;
    booted.current = true;
    const { sync, recolour, leftTab, bottomTab, query, regex, outlineSide, filter } = linked;
    useApp.getState().set({ sync, recolour, leftTab, bottomTab, query, regex, outlineSide, filter });
    void openDatabase(chosen.id, asked ? linked : undefined);
  }, [listed]);
  return databases;
}
