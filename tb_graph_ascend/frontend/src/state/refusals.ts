/* What a mapping left out, told once for all steps, ranks and layers that it was left out in. */

import type { MappingResult } from "../api/types";

type Refused = MappingResult["refused"][number];

const NUMBER = /(^|\.)\d+(?=\.|$)/g;

export interface RefusedOnce extends Refused {
  places: number;
}

export function refusedOnce(refused: readonly Refused[]): RefusedOnce[] {
  const found = new Map<string, RefusedOnce>();
  for (const one of refused) {
    // What finds no partner is many calls of a kind, one a layer; a pair that does not fit was asked for by name.
    const kind = one.benchmark === null ? one.problem.replace(NUMBER, "$1N") : one.problem;
    const key = JSON.stringify([kind, one.benchmark, one.reason]);
    const known = found.get(key);
    if (known) found.set(key, { ...known, problem: known.problem === one.problem ? known.problem : kind, places: known.places + 1 });
    else found.set(key, { ...one, places: 1 });
  }
  return [...found.values()];
}
