/* The selected node with its details from the server. */

import { useQuery } from "@tanstack/react-query";

import { detailsQuery } from "../api/queries";
import { useApp } from "../state/store";

export function useSelection() {
  const db = useApp((state) => state.db);
  const selected = useApp((state) => state.selected);
  const details = useQuery({
    ...detailsQuery(db ?? "", selected ?? 0),
    enabled: db !== null && selected !== null,
  });
  return { selected, details };
}
