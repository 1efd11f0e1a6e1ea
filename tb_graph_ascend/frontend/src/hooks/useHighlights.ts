/* Which nodes of the diff the nodes table lists, so that rows can mark them.
 *
 * Only the server reads the query: an expression that never ends must not stop the page. */

import { useMemo } from "react";

import { listedNodes } from "../state/listing";
import { askable } from "../state/queryterms";
import { useApp } from "../state/store";
import { useNodeTable } from "./useNodeTable";

export function useHighlights(): (id: number) => boolean {
  const query = useApp((state) => askable(state.query));
  const { answer } = useNodeTable(query !== "");
  const pages = query === "" ? undefined : answer.data?.pages;
  return useMemo(() => {
    const listed = listedNodes(pages?.flatMap(({ rows }) => rows) ?? []);
    return (id) => listed.has(id);
  }, [pages]);
}
