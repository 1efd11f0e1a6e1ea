/* Starts from the address: opens its database, else the newest that can be opened. */

import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef } from "react";

import { databasesQuery } from "../api/queries";
import { readAddress } from "../state/addressbar";
import { start } from "../state/travel";
import { fromQuery } from "../state/url";

/** The query of all databases; the first answer opens one, an empty one waits for the next. */
export function useBoot() {
  const databases = useQuery(databasesQuery());
  const booted = useRef(false);
  const listed = databases.data?.databases;
  useEffect(() => {
    if (listed) booted.current ||= start(fromQuery(readAddress()), listed);
  }, [listed]);
  return databases;
}
