/* Back and Forward: which states become entries of the browser's history, and which only rename it. */

/** One state as the history knows it: where one is, and the whole state as a query string. */
export interface Visit {
  /** Database, step, rank and selection: what Back goes through. */
  place: string;
  query: string;
}

interface Shown {
  db: string | null;
  step: number | null;
  rank: number | null;
  selected: number | null;
}

export function placeOfVisit({ db, step, rank, selected }: Shown): string {
  return JSON.stringify([db, step, rank, selected]);
}

/** What a new state does to the history: an entry of its own, another name for the last, nothing. */
export function entryFor(last: Visit | null, now: Visit): "push" | "replace" | null {
  if (last?.query === now.query) return null;
  return last === null || last.place === now.place ? "replace" : "push";
}
