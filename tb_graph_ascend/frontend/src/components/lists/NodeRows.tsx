/* A virtual list of nodes that loads page after page while one scrolls. */

import { useInfiniteQuery } from "@tanstack/react-query";
import { useVirtualizer } from "@tanstack/react-virtual";
import { type ReactNode, useEffect, useRef } from "react";
import { useTranslation } from "react-i18next";

import { type NodeQuery, api } from "../../api/client";
import type { Node } from "../../api/types";
import { useDatabase } from "../../hooks/useDatabase";
import { selectNode } from "../../state/actions";
import { useApp } from "../../state/store";
import { FailureNotice } from "../parts/FailureNotice";
import { NodeName } from "../parts/NodeName";

interface Props {
  query: NodeQuery;
  empty: string;
  /** What stands at the right end of a row. */
  aside: (node: Node) => ReactNode;
}

const PAGE = 200;
const ROW = 30;

export function NodeRows({ query, empty, aside }: Props) {
  const { t } = useTranslation();
  const { data } = useDatabase();
  const answer = useNodePages(query);
  const nodes = answer.data?.pages.flatMap((page) => page.nodes) ?? [];
  const scroll = useRef<HTMLDivElement>(null);
  const rows = useVirtualizer({
    count: nodes.length,
    getScrollElement: () => scroll.current,
    estimateSize: () => ROW,
    overscan: 8,
  });
  const items = rows.getVirtualItems();
  const last = items[items.length - 1]?.index ?? 0;
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = answer;
  useEffect(() => {
    if (last >= nodes.length - 20 && hasNextPage && !isFetchingNextPage) void fetchNextPage();
  }, [last, nodes.length, hasNextPage, isFetchingNextPage, fetchNextPage]);
  const selected = useApp((state) => state.selected);

  if (answer.isError) {
    return <FailureNotice error={answer.error} retry={() => void answer.refetch()} />;
  }
  if (answer.isPending) return <p className="message">{t("loading")}</p>;
  if (nodes.length === 0) return <p className="message">{empty}</p>;
  return (
    <>
      <p className="count">{t("lists.total", { count: answer.data.pages[0]?.total ?? 0 })}</p>
      <div className="scroll" ref={scroll}>
        <ul style={{ height: rows.getTotalSize() }} className="virtual">
          {items.map(({ index, start }) => {
            const node = nodes[index];
            if (!node) return null;
            return (
              <li
                key={node.id}
                className={node.id === selected ? "row current" : "row"}
                style={{ transform: `translateY(${start}px)`, height: ROW }}
              >
                <button
                  type="button"
                  className="row-button"
                  onClick={() => void selectNode(node.id)}
                >
                  {data?.comparison && <span className={`side-dot ${node.side}`} title={t(`side.${node.side}`)} />}
                  <NodeName node={node} />
                </button>
                {aside(node)}
              </li>
            );
          })}
        </ul>
      </div>
    </>
  );
}

function useNodePages(query: NodeQuery) {
  const db = useApp((state) => state.db);
  const step = useApp((state) => state.step);
  const rank = useApp((state) => state.rank);
  return useInfiniteQuery({
    queryKey: ["db", db, "nodes", step, rank, query],
    queryFn: ({ pageParam }) =>
      api.nodes(db ?? "", step ?? 0, rank ?? 0, { ...query, offset: pageParam, limit: PAGE }),
    initialPageParam: 0,
    getNextPageParam: (last) => {
      const next = last.offset + last.nodes.length;
      return next < last.total && last.nodes.length > 0 ? next : undefined;
    },
    enabled: db !== null && step !== null && rank !== null,
  });
}
