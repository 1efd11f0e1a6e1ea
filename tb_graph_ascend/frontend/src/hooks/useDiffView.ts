/* Ties the canvas of rows to the session: paints, loads what comes into view, selects, opens. */

import { useEffect, useRef, useState } from "react";
import { useTranslation } from "react-i18next";

import type { DiffRow } from "../api/types";
import { DiffCanvas, type DiffHit, type DiffLook, type Window } from "../graph/diffcanvas";
import { attachDiffPointer } from "../graph/diffpointer";
import type { Held } from "../graph/mapdrag";
import { attachMapPointer } from "../graph/mappointer";
import { selectNode } from "../state/actions";
import { useLitRails } from "../state/litrails";
import { mapGestures, useMapDrag } from "../state/mapdrag";
import { useDiffSettings } from "../state/diffsettings";
import type { DiffView } from "../state/diffview";
import { pickedNode } from "../state/mapping";
import type { GraphSession } from "../state/session";
import { useApp } from "../state/store";
import { useBegins } from "./useAnswer";
import { useDatabase } from "./useDatabase";
import { useDiffPalette } from "./useDiffPalette";
import { textsOf } from "../i18n/difftexts";
import { useHighlights } from "./useHighlights";

/** How long the view rests before those who read it by ear are told. */
const REST_MS = 120;

/** What is in view for those who read it by ear, and the version of the rows in it. */
export interface Shown extends Window {
  version: number;
}

export function useDiffView(session: GraphSession) {
  const { diff } = session;
  const canvas = useRef<HTMLCanvasElement>(null);
  const scroller = useRef<HTMLDivElement>(null);
  const spacer = useRef<HTMLDivElement>(null);
  const view = useRef<DiffCanvas | null>(null);
  const look = useLook(session);
  const latest = useRef(look);
  const [shown, setShown] = useState<Shown | null>(null);
  const [moving, setMoving] = useState(false);
  const [hovered, setHovered] = useState<DiffHit | null>(null);

  useEffect(() => {
    if (!canvas.current || !scroller.current || !spacer.current) return undefined;
    let resting = 0;
    const created = new DiffCanvas(canvas.current, scroller.current, spacer.current, diff.pages, latest.current, {
      showing: (first, last) => diff.want(first, last),
      painted: (window_) => {
        const rests = diff.window !== null && isSame(diff.window, window_);
        diff.moved(window_);
        window.clearTimeout(resting);
        const read: Shown = { ...window_, version: diff.version };
        const rest = (): void => {
          setShown((before) => (before && isSame(before, read) ? before : read));
          setMoving(false);
        };
        if (!rests) setMoving(true);
        resting = window.setTimeout(rest, rests ? 0 : REST_MS);
      },
    });
    view.current = created;
    const element = scroller.current;
    const onScroll = (): void => created.invalidate();
    element.addEventListener("scroll", onScroll, { passive: true });
    const stops = [
      diff.subscribe(() => created.setPages(diff.pages)),
      attachDiffPointer(created, {
        clicked: (hit) => onClick(diff, hit),
        doubleClicked: ({ row }) => diff.toggle(row),
        hovered: (hit) => setHovered((before) => (before?.place === hit?.place && before?.side === hit?.side ? before : hit)),
      }),
      attachMapPointer(created, mapGestures(() => latest.current.mappable, () => latest.current.folded)),
      observeSize(element, created),
      diff.attach(paneOf(created, element)),
      () => element.removeEventListener("scroll", onScroll),
      () => window.clearTimeout(resting),
      () => created.dispose(),
    ];
    created.setPages(diff.pages);
    void diff.start();
    return () => {
      stops.forEach((stop) => stop());
      view.current = null;
    };
  }, [diff]);

  useEffect(() => {
    latest.current = look;
    view.current?.setLook(look);
  }, [look]);

  /** Whether what is read out lags behind what is painted, or that behind what was asked for. */
  const busy = moving || diff.busy || shown?.version !== diff.version;
  return { canvas, scroller, spacer, view, shown, hovered, look, busy };
}

/** Two views, or two that were read out, are the same where all that they say is. */
function isSame<View extends Window>(before: View, now: View): boolean {
  return (Object.keys(now) as (keyof View)[]).every((key) => before[key] === now[key]);
}

function paneOf(view: DiffCanvas, element: HTMLElement) {
  return {
    show: (place: number, options?: { middle?: boolean }) => view.show(place, options?.middle ?? false),
    zoom: (factor: number) => view.zoom(factor),
    reset: () => {
      view.zoom(24 / view.rowHeight);
      view.setTop(0);
    },
    scrollBy: (rows: number) => view.setTop(view.top + rows * view.rowHeight),
    top: () => view.top / view.rowHeight,
    setTop: (row: number) => view.setTop(row * view.rowHeight),
    visibleRows: () => view.canvas.clientHeight / view.rowHeight,
    focus: () => element.focus({ preventScroll: true }),
  };
}

function onClick(diff: DiffView, { row, side, chevron }: DiffHit): void {
  if (chevron) diff.toggle(row);
  else selectRow(row, side === "benchmark" ? "benchmark" : "problem");
}

/** Select a row's node of a side, or of the one that has it. */
function selectRow(row: DiffRow, side: "problem" | "benchmark"): void {
  const node = row[side] ?? row.problem ?? row.benchmark;
  if (node) void selectNode(node.id, { keepView: true });
}

function useLook(session: GraphSession): DiffLook {
  const { t } = useTranslation();
  const palette = useDiffPalette();
  const highlights = useHighlights();
  const recolour = useApp((state) => state.recolour);
  const selected = useApp((state) => state.selected);
  const picks = useApp((state) => state.picks);
  const microStep = useApp((state) => state.microStep);
  const folded = useDiffSettings((state) => state.folded);
  const lit = useLitRails((state) => state.ends);
  const dragged = useMapDrag((state) => state.held);
  const over = useMapDrag((state) => state.place);
  const { data: database } = useDatabase();
  const [look, setLook] = useState<{ of: readonly unknown[]; look: DiffLook }>();
  const begins = useBegins();
  const { comparison } = session;
  const mappable = comparison && database?.writable === true;
  const of = [palette, highlights, recolour, selected, picks, dragged, over, mappable, microStep, comparison, folded, lit, begins, t];
  if (look?.of.every((part, index) => part === of[index])) return look.look;
  const next: DiffLook = {
    palette,
    recolour,
    selected,
    microStep,
    comparison,
    folded,
    lit,
    mappable,
    mapping: mappingOf(dragged, over, pickedNode(picks)),
    picked: [picks.problem?.id ?? null, picks.benchmark?.id ?? null],
    hit: highlights,
    texts: textsOf(t, begins),
  };
  setLook({ of, look: next });
  return next;
}

/** What is dragged, else the one node whose partner is still to be picked. */
function mappingOf(dragged: Held | null, over: number, picked: Held | null): DiffLook["mapping"] {
  if (dragged) return { held: dragged, over };
  return picked && { held: picked, over: -1 };
}

function observeSize(frame: HTMLElement, view: DiffCanvas): () => void {
  const measure = (): void => view.resize(frame.clientWidth, frame.clientHeight);
  const observer = new ResizeObserver(measure);
  observer.observe(frame);
  measure();
  return () => observer.disconnect();
}
