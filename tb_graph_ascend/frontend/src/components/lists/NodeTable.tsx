/* The nodes that fit the query of the search box: sorted, paged while one scrolls, handed on whole. */

import { useVirtualizer } from "@tanstack/react-virtual";
import { type KeyboardEvent, useEffect, useRef } from "react";
import { useTranslation } from "react-i18next";

import { RequestError } from "../../api/client";
import type { NodeRow } from "../../api/types";
import { useDatabase } from "../../hooks/useDatabase";
import { useNodeTable } from "../../hooks/useNodeTable";
import { chooseRow, nextRow, rowIndex, useRowCursor } from "../../state/rowcursor";
import { useApp } from "../../state/store";
import { FailureNotice } from "../parts/FailureNotice";
import { NodeTableRow } from "./NodeTableRow";
import { NothingFits } from "./NothingFits";
import { NonfiniteLines } from "./NonfiniteLine";
import { NodeTableTools } from "./NodeTableTools";

const ROW = 30;

export function NodeTable() {
  const { t } = useTranslation();
  const table = useNodeTable(true);
  const { answer, rows, total, searched, pairs, unknown } = table;
  const ofOverflow = useApp(({ query }) => /(?:^|\s)overflow(?::\w+)?(?:\s|$)/.test(query));
  return (
    <>
      <NodeTableTools files={!answer.isError && total > 0} />
      {answer.isError ? (
        <FailureNotice error={answer.error} retry={() => void answer.refetch()} quiet={isRefusal(answer.error)} />
      ) : (
        <p className="count" role="status">
          {answer.isPending ? t("loading") : t("lists.total", { count: total })}
          {searched < pairs && <strong> {t("lists.partly", { searched, pairs })}</strong>}
        </p>
      )}
      {ofOverflow && <NonfiniteLines side="problem" />}
      {!answer.isError && rows.length > 0 && <Rows table={table} />}
      {answer.isSuccess && rows.length === 0 && <NothingFits words={unknown} />}
    </>
  );
}

/** Whether the query itself was refused, as one in the middle of typing is. */
function isRefusal(error: unknown): boolean {
  return error instanceof RequestError && error.status === 400;
}

function Rows({ table }: { table: ReturnType<typeof useNodeTable> }) {
  const { t } = useTranslation();
  const { answer, rows, total, asked } = table;
  const scope = useApp((state) => state.table.scope);
  const comparison = useDatabase().data?.comparison === true;
  const active = rowIndex(useRowCursor(), asked, rows);
  const scroll = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroll.current,
    estimateSize: () => ROW,
    overscan: 8,
  });
  const items = virtual.getVirtualItems();
  const last = items[items.length - 1]?.index ?? 0;
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = answer;
  useEffect(() => {
    if (last >= rows.length - 20 && hasNextPage && !isFetchingNextPage) void fetchNextPage();
  }, [last, rows.length, hasNextPage, isFetchingNextPage, fetchNextPage]);
  useEffect(() => {
    if (active >= 0) virtual.scrollToIndex(active);
  }, [active, virtual]);
  // What is selected elsewhere, as by a link, is led to once where the list has it.
  const selected = useApp((state) => state.selected);
  const led = useRef<number | null>(null);
  useEffect(() => {
    if (selected === null || led.current === selected) return;
    const index = rows.findIndex(({ node }) => node.id === selected || node.match === selected);
    if (index < 0) return;
    led.current = selected;
    if (index !== active) virtual.scrollToIndex(index, { align: "center" });
  }, [selected, rows, active, virtual]);
  const choose = (index: number | null): void => {
    const row: NodeRow | undefined = index === null ? undefined : rows[index];
    if (index !== null && row) chooseRow(asked, index, row);
  };
  const onKey = (event: KeyboardEvent): void => {
    const shift = KEYS[event.key];
    if (shift === undefined) return;
    choose(nextRow(active, shift, rows.length));
    event.preventDefault();
    event.stopPropagation();
  };
  const places = scope !== "pair";
  return (
    <>
    <div className={places ? "table-heads placed" : "table-heads"} aria-hidden>
      <span>{t("lists.heads.node")}</span>
      <span>{t("lists.heads.module")}</span>
      {places && <span title={t("lists.heads.placeHelp")}>{t("lists.heads.place")}</span>}
      <span>{comparison && t("details.score")}</span>
    </div>
    <div
      className="scroll"
      ref={scroll}
      role="grid"
      tabIndex={0}
      aria-label={t("tabs.nodes")}
      aria-rowcount={total}
      aria-activedescendant={items.some(({ index }) => index === active) ? `node-row-${active}` : undefined}
      onKeyDown={onKey}
    >
      <div role="rowgroup" style={{ height: virtual.getTotalSize() }} className="virtual">
        {items.map(({ index, start }) => {
          const row = rows[index];
          return (
            row && (
              <NodeTableRow
                key={`${row.step} ${row.rank} ${row.node.id}`}
                row={row}
                index={index}
                active={index === active}
                places={places}
                style={{ transform: `translateY(${start}px)`, height: ROW }}
                choose={() => choose(index)}
              />
            )
          );
        })}
      </div>
    </div>
    </>
  );
}

const KEYS: Partial<Record<string, 1 | -1>> = { ArrowDown: 1, ArrowUp: -1 };
