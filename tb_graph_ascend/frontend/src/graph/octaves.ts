/* How far two values of a series are apart, in octaves. */

/** What is said where one of two is 0: more octaves than float32 norms of one series differ by. */
const APART = 64;

/** |log2 of one by the other|, as the server has it; null where one is missing or no number. */
export function octavesApart(one: number | null | undefined, other: number | null | undefined): number | null {
  if (typeof one !== "number" || typeof other !== "number") return null;
  if (one === other) return 0;
  const apart = Math.abs(Math.log2(Math.abs(one)) - Math.log2(Math.abs(other)));
  return Number.isFinite(apart) ? apart : APART;
}

/** The most that two lines are apart over their columns; null where no column has both. */
export function mostApart(one: readonly (number | null)[], other: readonly (number | null)[]): number | null {
  const found = one.flatMap((value, at) => octavesApart(value, other[at]) ?? []);
  return found.length === 0 ? null : Math.max(...found);
}
