/* The words of a query, changed by buttons; what they mean is the server's business. */

/** The query with a term added at its end, or without it where it is in there. */
export function toggleTerm(query: string, term: string): string {
  const words = query.split(/\s+/).filter(Boolean);
  const others = words.filter((word) => word !== term);
  return [...others, ...(others.length === words.length ? [term] : [])].join(" ");
}
