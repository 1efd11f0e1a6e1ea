/* The parameters that two programs share: all were written ahead, a page of some is cut here. */

import type { SharedWeights } from "../api/types";

export interface WeightsWish {
  part: string;
  relation: string | null;
  offset: number;
  limit: number;
}

/** Those with a text in a path of either side, of one relation. */
export function weightsOf(written: string, { part, relation, offset, limit }: WeightsWish): SharedWeights {
  const { all, weights } = JSON.parse(written) as SharedWeights;
  const wanted = part.toLowerCase();
  const found = weights.filter(
    (one) => (relation === null || one.relation === relation) && [...one.problem, ...one.benchmark].some((path) => path.toLowerCase().includes(wanted)),
  );
  return { all, total: found.length, offset, weights: found.slice(offset, offset + limit) };
}
