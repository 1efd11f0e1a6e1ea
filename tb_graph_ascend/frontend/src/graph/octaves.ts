/* How far two values of a series are apart, in octaves. */

/** What is said where one of two is 0: more octaves than float32 norms of one series differ by. */
export const APART = 64;

/** |log2 of one by the other|, as the server has it; null where one is missing or no number. */
export function octavesApart(one: number | null | undefined, other: number | null | undefined): number | null {
  if (typeof one !== "number" || typeof other !== "number") return null;
  if (one === other) return 0;
  const apart = Math.abs(Math.log2(Math.abs(one)) - Math.log2(Math.abs(other)));
  return Number.isFinite(apart) ? apart : APART;
}

/** Whether one of two is exactly 0 and the other is not: of these no factor tells how far they are apart. */
export function isZeroBeside(one: number | null | undefined, other: number | null | undefined): boolean {
  return typeof one === "number" && typeof other === "number" && one !== other && (one === 0 || other === 0);
}

/** The two values of the column in which two lines are apart the most; null where no column has both. */
export function mostApart(one: readonly (number | null)[], other: readonly (number | null)[]): [number, number] | null {
  let most = -1;
  let found: [number, number] | null = null;
  one.forEach((value, at) => {
    const beside = other[at];
    const apart = octavesApart(value, beside);
    if (apart === null || apart <= most || typeof value !== "number" || typeof beside !== "number") return;
    most = apart;
    found = [value, beside];
  });
  return found;
}
