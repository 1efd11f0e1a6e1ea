/* Ties a canvas to the session: paints, loads what comes into view, selects, opens, follows. */

import { type RefObject, useEffect, useRef, useState } from "react";

import type { Node, Side } from "../api/types";
import type { Hit } from "../graph/hit";
import { attachPointer } from "../graph/pointer";
import { GraphView, type SceneLook, type ViewEvents } from "../graph/view";
import { selectNode, toggleNode } from "../state/actions";
import type { GraphSession } from "../state/session";
import { useApp } from "../state/store";
import { useHighlights } from "./useHighlights";
import { useMinimap } from "./useMinimap";
import { usePalette } from "./usePalette";

export function useGraphView(session: GraphSession, side: Side) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const frame = useRef<HTMLDivElement>(null);
  const view = useRef<GraphView | null>(null);
  const look = useSceneLook(session, side);
  const latest = useRef(look);
  const { parts, update } = useMinimap(view);
  const [hovered, setHovered] = useState("");

  useEffect(() => {
    const tree = session.tree(side);
    if (!canvas.current || !frame.current || !tree) return undefined;
    const events: ViewEvents = {
      clicked: (hit) => void onClick(session, side, hit),
      doubleClicked: (hit) => void onDoubleClick(session, side, hit),
      hovered: (hit) => setHovered(nodeAt(session, side, hit)?.name ?? ""),
      moved: () => session.link.moved(side),
      showing: (ranges) => session.show(side, ranges),
      painted: (shown, layout, size) =>
        update(shown, layout, size, latest.current, session.version),
    };
    const created = new GraphView(canvas.current, tree, latest.current, events);
    view.current = created;
    const stops = [
      session.subscribe((anchors) => created.relayout(anchors.find((one) => one.side === side))),
      attachPointer(created),
      observeSize(frame.current, created),
      session.link.attach(side, created),
      () => created.dispose(),
    ];
    return () => {
      stops.forEach((stop) => stop());
      view.current = null;
    };
  }, [session, side, update]);

  useEffect(() => {
    latest.current = look;
    view.current?.setLook(look);
  }, [look]);

  return { canvas, frame, minimap: parts, hovered };
}

function useSceneLook(session: GraphSession, side: Side): SceneLook {
  const palette = usePalette();
  const highlights = useHighlights();
  const recolour = useApp((state) => state.recolour);
  const selected = useApp((state) => state.selected);
  const picked = useApp((state) => state.picks[side]?.id ?? null);
  const node = selected === null ? undefined : session.get(selected);
  const own = node?.side === side ? node.id : (node?.match ?? null);
  const comparison = session.comparison;
  const microStep = useApp((state) => state.microStep);
  const [look, setLook] = useState<SceneLook>();
  const next = { palette, highlights, recolour, selected: own, picked, comparison, microStep };
  if (!look || changed(look, next)) {
    setLook(next);
    return next;
  }
  return look;
}

function changed(a: SceneLook, b: SceneLook): boolean {
  return (Object.keys(a) as (keyof SceneLook)[]).some((key) => a[key] !== b[key]);
}

function observeSize(frame: RefObject<HTMLDivElement>["current"], view: GraphView): () => void {
  const measure = (): void => view.resize(frame.clientWidth, frame.clientHeight);
  const observer = new ResizeObserver(measure);
  observer.observe(frame);
  measure();
  return () => observer.disconnect();
}

function nodeAt(session: GraphSession, side: Side, hit: Hit | null): Node | undefined {
  if (!hit) return undefined;
  if (hit.box) return hit.box.node;
  return hit.parent === null ? undefined : session.tree(side)?.childAt(hit.parent, hit.position);
}

async function onClick(session: GraphSession, side: Side, hit: Hit | null): Promise<void> {
  const node = nodeAt(session, side, hit);
  if (node) await selectNode(node.id, { keepView: true });
}

async function onDoubleClick(session: GraphSession, side: Side, hit: Hit): Promise<void> {
  const node = nodeAt(session, side, hit);
  if (node && node.children > 0 && (hit.header || !hit.box)) await toggleNode(node);
}
