/* Leads to the row of a series that was chosen elsewhere: by an alert, a sentence, an address. */

import { useCallback, useEffect, useRef } from "react";

import type { TrendRow } from "../api/trends";
import { drawnFirst, ofOneModule, partsOf, seriesOf, useTrends } from "../state/trends";

/** `show` is called with the place of that row once it is among those that are here. What is returned
 * is called by who chose a row in this view: one is there already. */
export function useChosenRow(
  rows: readonly TrendRow[] | undefined,
  offset: number,
  kind: string,
  show: (place: number) => void,
): () => void {
  const lead = useTrends((state) => state.chosen[0]);
  const set = useTrends((state) => state.set);
  const followed = useRef<string | undefined>(undefined);
  useEffect(() => {
    if (lead === followed.current || rows === undefined) return;
    const of = lead === undefined ? null : partsOf(lead);
    const asked = (target: string): boolean =>
      of !== null && (of.kind === kind ? of.name === target : ofOneModule(of.name, target));
    const index = rows.findIndex(({ target }) => target !== null && asked(target));
    const found = rows[index]?.target;
    if (lead !== undefined && index < 0) return;
    followed.current = lead;
    if (index >= 0) show(offset + index);
    // Another kind of series was asked for: what is chosen is of the same module, as is what is marked.
    if (of !== null && of.kind !== kind && found) {
      followed.current = seriesOf(kind, found);
      set({ chosen: drawnFirst(useTrends.getState().chosen, seriesOf(kind, found)) });
    }
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
