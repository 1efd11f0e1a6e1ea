/* Writes the state into the address shortly after it changed. */

import { useEffect } from "react";

import { readAddress, writeAddress } from "../state/addressbar";
import { shapeOf, shapeToText } from "../state/openshape";
import type { GraphSession } from "../state/session";
import { useApp } from "../state/store";
import { toQuery } from "../state/url";

const DELAY_MS = 250;
/** Longer descriptions of what is open would make links that mail programs break. */
const LONGEST_SHAPE = 1500;

export function useAddressBar(): void {
  useEffect(() => {
    let timer = 0;
    let leave: (() => void) | undefined;
    let watched: GraphSession | null = null;
    const later = (): void => {
      window.clearTimeout(timer);
      timer = window.setTimeout(write, DELAY_MS);
    };
    const follow = (): void => {
      const { session } = useApp.getState();
      if (session !== watched) {
        leave?.();
        leave = session?.subscribe(later);
        session?.link.onMoved(later);
        watched = session;
      }
      later();
    };
    const stop = useApp.subscribe(follow);
    return () => {
      window.clearTimeout(timer);
      leave?.();
      stop();
    };
  }, []);
}

function write(): void {
  const state = useApp.getState();
  if (!state.session) return;
  const query = toQuery({ ...state, open: openOf(state.session), view: viewOf(state.session) });
  if (query !== readAddress()) writeAddress(query);
}

function openOf(session: GraphSession) {
  const text = (side: "problem" | "benchmark"): string => {
    const tree = session.tree(side);
    const shape = tree ? shapeToText(shapeOf(tree)) : "";
    return shape.length > LONGEST_SHAPE ? "" : shape;
  };
  return { problem: text("problem"), benchmark: text("benchmark") };
}

function viewOf(session: GraphSession) {
  const view = session.link.view("problem");
  return view && !view.isFitted ? view.view : null;
}
