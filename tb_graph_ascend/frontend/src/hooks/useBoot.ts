/* Starts from the address: opens its database, else the newest that can be opened. */

import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef } from "react";

import { databasesQuery } from "../api/queries";
import { readAddress } from "../state/addressbar";
import { useApp } from "../state/store";
import { startFrom } from "../state/travel";
import { fromQuery } from "../state/url";

/** The query of all databases; the first answer opens one, an empty one waits for the next. */
export function useBoot() {
  const databases = useQuery(databasesQuery());
  const booted = useRef(false);
  const listed = databases.data?.databases;
  useEffect(() => {
    // A result that was built here is open before the server lists it.
    booted.current ||= useApp.getState().db !== null;
    if (booted.current || !listed) return;
    const linked = fromQuery(readAddress());
    if (linked.db === null && listed.every(({ error }) => error !== null)) return;
    booted.current = true;
    void startFrom(linked, listed);
  }, [listed]);
  return databases;
}
