/* Keeps the address and what is looked at in the trends alike, while they are shown. */

import { useEffect } from "react";

import { onTravel, readAddress, writeAddress } from "../state/addressbar";
import { useApp } from "../state/store";
import { NOWHERE, type TrendPlace, fromTrendQuery, toTrendQuery, useTrends } from "../state/trends";

const DELAY_MS = 250;

export function useTrendAddress(): void {
  useEffect(() => {
    const linked = fromTrendQuery(readAddress());
    if (linked) useTrends.setState(linked);
    let timer = 0;
    /** The run that the address is of. */
    let written = useTrends.getState().run;
    const rest = (): void => {
      window.clearTimeout(timer);
      timer = 0;
    };
    const write = (place: TrendPlace): void => {
      rest();
      // Another run is another place to come back to; all else changes the place one is at.
      const same = written === place.run || isFirst();
      written = place.run;
      writeAddress(toTrendQuery(place), same ? "replace" : "push");
    };
    const stop = useTrends.subscribe((now, before) => {
      // What Back leads to is written before it is left.
      if (now.run !== before.run && timer !== 0) write(before);
      rest();
      if (now.run === null) written = null;
      else timer = window.setTimeout(() => write(useTrends.getState()), DELAY_MS);
    });
    const stay = onTravel((query) => {
      const place = fromTrendQuery(query) ?? NOWHERE;
      rest();
      useTrends.setState(place);
      rest();
      written = place.run;
    });
    return () => {
      rest();
      stop();
      stay();
    };
  }, []);
}

/** Whether nothing was shown before that one could come back to. */
function isFirst(): boolean {
  return readAddress() === "" && useApp.getState().session === null;
}
