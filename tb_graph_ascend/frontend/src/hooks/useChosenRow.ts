/* Leads to the row of a series that was chosen elsewhere: by an alert, a sentence, an address. */

import { useCallback, useEffect, useRef } from "react";

import type { TrendRow } from "../api/trends";
import { seriesOf, useTrends } from "../state/trends";

/** `show` is called with the place of that row once it is among those that are here. What is returned
 * is called by who chose a row in this view: one is there already. */
export function useChosenRow(
  rows: readonly TrendRow[] | undefined,
  offset: number,
  kind: string,
  show: (place: number) => void,
): () => void {
  const lead = useTrends((state) => state.chosen[0]);
  const followed = useRef<string | undefined>(undefined);
  useEffect(() => {
    if (lead === followed.current || rows === undefined) return;
    const index = rows.findIndex(({ target }) => target !== null && seriesOf(kind, target) === lead);
    if (lead !== undefined && index < 0) return;
    followed.current = lead;
    if (index >= 0) show(offset + index);
  });
  return useCallback(() => {
    followed.current = useTrends.getState().chosen[0];
  }, []);
}

/** Scroll as little as shows a row whole. */
export function bringIntoView(frame: HTMLElement, top: number, height: number): void {
  const least = top + height - frame.clientHeight;
  frame.scrollTop = Math.min(top, Math.max(least, frame.scrollTop));
}
