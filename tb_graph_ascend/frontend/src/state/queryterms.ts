/* The words of a query, as buttons and typing change them; what they mean is the server's business. */

/** The query with a term added at its end, or without it where it is in there. */
export function toggleTerm(query: string, term: string): string {
  const words = query.split(/\s+/).filter(Boolean);
  const others = words.filter((word) => word !== term);
  return [...others, ...(others.length === words.length ? [term] : [])].join(" ");
}

/** A term at the end whose number or choice is still to be typed, such as `score >` and `side:`. */
const UNFINISHED = /(?:^|\s)-?(?:(?:score|input|introduced)\s*(?:[<>]=?|=)\s*[-+.]?|[a-z]+:)$/i;

/** What can be asked of a query while it is typed: its terms but for one that is not finished. */
export function askable(query: string): string {
  return query.replace(UNFINISHED, "");
}
