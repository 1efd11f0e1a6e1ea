/* Lets the server read the names of a step and rank before the first letter of a search is typed:
 * of 200,000 nodes that takes most of a second, once. */

import { api } from "../api/client";
import type { GraphSession } from "./session";

/** Long enough for the first screen and the first action to be answered before. */
const REST_MS = 1500;

let waiting = 0;

/** Prepare a search once the page has come to rest. */
export function prepareSearchSoon(session: GraphSession): void {
  window.clearTimeout(waiting);
  waiting = window.setTimeout(() => prepareSearch(session), REST_MS);
}

/** Prepare a search now, because it is about to come; free where it was done before. */
export function prepareSearch({ db, pair: { step, rank } }: GraphSession): void {
  window.clearTimeout(waiting);
  // A failure shows when the search itself is asked for.
  void api.search(db, step, rank, { q: "", regex: false, limit: 1 }).catch(() => undefined);
}
