/* Which nodes of the diff the nodes table lists, so that rows can mark them.
 *
 * Only the server reads the query: an expression that never ends must not stop the page. */

import { useMemo } from "react";

import { askable } from "../state/queryterms";
import { useApp } from "../state/store";
import { useNodeTable } from "./useNodeTable";

export function useHighlights(): (node: { name: string }) => boolean {
  const query = useApp((state) => askable(state.query));
  const { answer } = useNodeTable(query !== "");
  const pages = query === "" ? undefined : answer.data?.pages;
  return useMemo(() => {
    const listed = new Set<string>();
    for (const { node, partner } of pages?.flatMap(({ rows }) => rows) ?? []) {
      listed.add(node.name);
      if (partner !== null) listed.add(partner);
    }
    return ({ name }) => listed.has(name);
  }, [pages]);
}
