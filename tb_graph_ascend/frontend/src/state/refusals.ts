/* What a mapping left out, told once for all steps and ranks that it was left out in. */

import type { MappingResult } from "../api/types";

type Refused = MappingResult["refused"][number];

export interface RefusedOnce extends Refused {
  places: number;
}

export function refusedOnce(refused: readonly Refused[]): RefusedOnce[] {
  const found = new Map<string, RefusedOnce>();
  for (const one of refused) {
    const key = JSON.stringify([one.problem, one.benchmark, one.reason]);
    const known = found.get(key);
    if (known) known.places += 1;
    else found.set(key, { ...one, places: 1 });
  }
  return [...found.values()];
}
