/* The rows: headings over the columns, the canvas, and the same rows for those who do not see it. */

import { type KeyboardEvent, useMemo } from "react";
import { useTranslation } from "react-i18next";

import { columnsOf } from "../../graph/grid";
import { useDatabase } from "../../hooks/useDatabase";
import { useDiff } from "../../hooks/useDiff";
import { useDiffView } from "../../hooks/useDiffView";
import { useKeptFocus } from "../../hooks/useKeptFocus";
import { moveInRows } from "../../state/diffkeys";
import type { GraphSession } from "../../state/session";
import { DiffHeads } from "./DiffHeads";
import { MapGhost } from "./MapGhost";
import { ReadableRows, isReadable, rowElementId } from "./ReadableRows";

export function DiffPane({ session }: { session: GraphSession }) {
  const { t } = useTranslation();
  const diff = useDiff(session);
  const { canvas, scroller, spacer, shown, hovered, look, busy } = useDiffView(session);
  useKeptFocus(scroller);
  const { data } = useDatabase();
  const width = shown?.width ?? 0;
  const { comparison, folded } = look;
  const columns = useMemo(() => columnsOf(width, { comparison, folded }), [width, comparison, folded]);
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (moveInRows(event.key, diff)) {
      event.preventDefault();
      event.stopPropagation();
    }
  };
  const place = look.selected === null ? -1 : diff.pages.find(look.selected);
  const name = data?.problem ?? "";
  return (
    <section className="diff" aria-label={t("diff.label", { name })}>
      <DiffHeads session={session} columns={columns} />
      <div
        className="diff-scroll"
        ref={scroller}
        role="treegrid"
        tabIndex={0}
        aria-label={`${t("diff.label", { name })}. ${t("diff.hint")}`}
        aria-rowcount={diff.pages.total}
        aria-busy={busy}
        aria-activedescendant={shown && isReadable(place, shown) ? rowElementId(place) : undefined}
        onKeyDown={onKeyDown}
      >
        {shown && <ReadableRows diff={diff} shown={shown} columns={columns} selected={look.selected} />}
        <canvas ref={canvas} className="diff-canvas" data-side="problem" aria-hidden title={hovered ? titleOf(hovered) : ""} />
        <div ref={spacer} aria-hidden />
      </div>
      <MapGhost />
    </section>
  );
}

function titleOf({ row, side }: NonNullable<ReturnType<typeof useDiffView>["hovered"]>): string {
  const named = side === "benchmark" ? row.benchmark : row.problem;
  return (named ?? row.problem ?? row.benchmark)?.name ?? "";
}
