/* Which nodes the search text hits, decided on the name alone so that boxes can mark it at once. */

import { useMemo } from "react";

import type { Node } from "../api/types";
import { useApp } from "../state/store";

export function useHighlights(): (node: Node) => boolean {
  const query = useApp((state) => state.query);
  const regex = useApp((state) => state.regex);
  return useMemo(() => matcher(query, regex), [query, regex]);
}

/** A test for names; an unfinished regular expression hits nothing. */
export function matcher(query: string, regex: boolean): (node: Node) => boolean {
  if (query === "") return () => false;
  if (!regex) {
    const wanted = query.toLowerCase();
    return (node) => node.name.toLowerCase().includes(wanted);
  }
  try {
    const pattern = new RegExp(query, "i");
    return (node) => pattern.test(node.name);
  } catch {
    return () => false;
  }
}
