/* Writes the state into the address shortly after it changed, and follows Back and Forward. */

import { useEffect } from "react";

import { databaseQuery, queryClient } from "../api/queries";
import { onTravel, writeAddress } from "../state/addressbar";
import { useBoxes } from "../state/boxes";
import { type Visit, entryFor, placeOfVisit } from "../state/history";
import type { GraphSession } from "../state/session";
import { type AppState, useApp } from "../state/store";
import { fromTrendQuery, useTrends } from "../state/trends";
import { travelTo } from "../state/travel";
import { fromQuery, toQuery } from "../state/url";

const DELAY_MS = 250;
/** The trends are a place of their own: what is shown after them is another. */
const TRENDS: Visit = { place: "trends", query: "" };
/** Longer descriptions of what is open would make links that mail programs break. */
const LONGEST_OPEN = 1500;

let writeNow: (() => void) | null = null;

/** Write what waits to be written: a link that is copied now shows what is on screen now. */
export function flushAddress(): void {
  writeNow?.();
}

export function useAddressBar(): void {
  useEffect(() => {
    let timer = 0;
    let unfollow: (() => void) | undefined;
    let watched: GraphSession | null = null;
    let last: Visit | null = null;
    let travels = 0;
    const write = (): void => {
      window.clearTimeout(timer);
      timer = 0;
      // On the way to an entry the state is half of it and half of the one that was left.
      const now = travels > 0 ? null : visit();
      const entry = now && entryFor(last, now);
      if (!now || !entry) return;
      last = now;
      writeAddress(now.query, entry);
    };
    const later = (): void => {
      if (useTrends.getState().run !== null) return;
      window.clearTimeout(timer);
      timer = window.setTimeout(write, DELAY_MS);
    };
    writeNow = write;
    const follow = (now: AppState, before: AppState): void => {
      const { session } = now;
      if (session !== watched) {
        unfollow?.();
        unfollow = session?.diff.onMoved(later);
        watched = session;
      }
      // What is opened behind the trends is not where one is.
      if (useTrends.getState().run !== null) return;
      // What Back would leave behind is written before one can press it.
      if (now.leftTab !== before.leftTab || now.bottomTab !== before.bottomTab) write();
      later();
    };
    const stop = useApp.subscribe(follow);
    const leave = useBoxes.subscribe(later);
    const turn = useTrends.subscribe(({ run }, before) => {
      if (run === null && before.run !== null) later();
      if (run === null || before.run !== null) return;
      // What Back leads to is written before it is left.
      if (timer !== 0) write();
      last = TRENDS;
    });
    const stay = onTravel((query) => {
      window.clearTimeout(timer);
      timer = 0;
      if (fromTrendQuery(query) !== null) return;
      last = { place: placeOfVisit(fromQuery(query)), query };
      travels += 1;
      void travelTo(fromQuery(query)).finally(() => {
        travels -= 1;
        later();
      });
    });
    return () => {
      stay();
      writeNow = null;
      window.clearTimeout(timer);
      unfollow?.();
      stop();
      leave();
      turn();
    };
  }, []);
}

/** The state as the history knows it; null while a switch is under way or nothing is shown. */
function visit(): Visit | null {
  const state = useApp.getState();
  if (!state.session || state.busy) return null;
  const built = queryClient.getQueryData(databaseQuery(state.session.db).queryKey)?.created ?? null;
  const open = openOf(state.session);
  const { module: graph, open: boxes, across } = useBoxes.getState();
  // A single graph starts as boxes: that one chose its rows is said.
  const rows = state.session.comparison ? null : 0;
  const query = toQuery({ ...state, built, open, graph: graph ?? rows, boxes, across, view: viewOf(state.session) });
  return { place: placeOfVisit(state), query };
}

/** What is open, unless it would make a link that mail programs break. */
function openOf({ diff }: GraphSession): string {
  return diff.open.length > LONGEST_OPEN ? "" : diff.open;
}

/** The first row in view, once the person has left the top. */
function viewOf({ diff }: GraphSession) {
  const top = Math.round(diff.pane?.top() ?? 0);
  return top > 0 ? { scale: 1, x: 0, y: top } : null;
}
