/* The graph as a virtual ARIA tree: all nodes by keyboard and for screen readers. */

import { useVirtualizer } from "@tanstack/react-virtual";
import { type KeyboardEvent, useEffect, useMemo, useRef } from "react";
import { useTranslation } from "react-i18next";

import type { Node, Side } from "../../api/types";
import { OutlineRows } from "../../outline/rows";
import { useSession } from "../../hooks/useSession";
import { moveFrom } from "../../state/actions";
import { outlineMove } from "../../state/outlinekeys";
import { SIDES } from "../../state/session";
import { useApp } from "../../state/store";
import { OutlineRow } from "./OutlineRow";

const ROW = 28;

export function Outline() {
  const { t } = useTranslation();
  const session = useSession();
  const side = useApp((state) => state.outlineSide);
  const set = useApp((state) => state.set);
  if (!session) return <p className="message">{t("loading")}</p>;
  const shown: Side = session.tree(side) ? side : side === "problem" ? "benchmark" : "problem";
  return (
    <>
      {session.comparison && (
        <div className="toolbar segmented" role="group" aria-label={t("outline.side")}>
          {SIDES.map((one) => (
            <button
              key={one}
              type="button"
              aria-pressed={one === shown}
              onClick={() => set({ outlineSide: one })}
            >
              {t(`side.${one}`)}
            </button>
          ))}
        </div>
      )}
      <OutlineTree side={shown} />
    </>
  );
}

function OutlineTree({ side }: { side: Side }) {
  const { t } = useTranslation();
  const session = useSession();
  const tree = session?.tree(side) ?? null;
  const version = session?.version;
  const scroll = useRef<HTMLDivElement>(null);
  const selected = useOwnSelection(side);
  // The tree changes in place; its version says when.
  // eslint-disable-next-line react-hooks/exhaustive-deps
  const rows = useMemo(() => (tree ? new OutlineRows(tree) : null), [tree, version]);
  const virtual = useVirtualizer({
    count: rows?.count ?? 0,
    getScrollElement: () => scroll.current,
    estimateSize: () => ROW,
    overscan: 10,
  });
  const index = selected && rows ? rows.indexOf(selected.parent, selected.position) : -1;
  useEffect(() => {
    if (index >= 0) virtual.scrollToIndex(index);
  }, [index, virtual]);
  if (!session || !tree || !rows) return null;

  const onKey = (event: KeyboardEvent): void => {
    const node = selected ?? tree.root;
    const move = outlineMove(event.key, node, tree, rows);
    if (!move) return;
    event.preventDefault();
    event.stopPropagation();
    moveFrom(node, move);
  };
  return (
    <div
      className="scroll outline"
      ref={scroll}
      role="tree"
      aria-label={t("outline.label", { side: t(`side.${side}`) })}
      tabIndex={0}
      aria-activedescendant={index >= 0 ? `outline-${index}` : undefined}
      onKeyDown={onKey}
    >
      <div style={{ height: virtual.getTotalSize() }} role="none">
        {virtual.getVirtualItems().map(({ index: row, start }) => {
          const place = rows.at(row);
          if (!place) return null;
          return (
            <OutlineRow
              key={row}
              row={row}
              place={place}
              start={start}
              height={ROW}
              session={session}
              side={side}
              selected={row === index}
            />
          );
        })}
      </div>
    </div>
  );
}

/** The selected node, or its partner on this side. */
function useOwnSelection(side: Side): Node | undefined {
  const session = useApp((state) => state.session);
  const id = useApp((state) => state.selected);
  const node = id === null ? undefined : session?.get(id);
  if (!node || node.side === side) return node;
  return node.match === null ? undefined : session?.get(node.match);
}
