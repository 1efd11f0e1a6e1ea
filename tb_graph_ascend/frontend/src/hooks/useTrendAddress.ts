/* Keeps the address and what is looked at in the trends alike, while they are shown. */

import { useEffect } from "react";

import { onTravel, readAddress, writeAddress } from "../state/addressbar";
import { NOWHERE, fromTrendQuery, toTrendQuery, useTrends } from "../state/trends";

const DELAY_MS = 250;

export function useTrendAddress(): void {
  useEffect(() => {
    const linked = fromTrendQuery(readAddress());
    if (linked) useTrends.setState(linked);
    let timer = 0;
    let shown = useTrends.getState().run;
    const stop = useTrends.subscribe((state) => {
      window.clearTimeout(timer);
      if (state.run === null) {
        shown = null;
        return;
      }
      // Another run is another place to come back to; all else changes the place one is at.
      const entry = shown === state.run ? "replace" : "push";
      shown = state.run;
      timer = window.setTimeout(() => writeAddress(toTrendQuery(useTrends.getState()), entry), DELAY_MS);
    });
    const stay = onTravel((query) => {
      window.clearTimeout(timer);
      const place = fromTrendQuery(query) ?? NOWHERE;
      shown = place.run;
      useTrends.setState(place);
      window.clearTimeout(timer);
    });
    return () => {
      window.clearTimeout(timer);
      stop();
      stay();
    };
  }, []);
}
