/* Ranks as people write them: 0–16, 18, 40. */

const SHOWN = 6;

/** Sorted numbers as ranges; a long list ends in an ellipsis. */
export function rangesText(numbers: readonly number[]): string {
  const ranges: [number, number][] = [];
  for (const number of numbers) {
    const last = ranges[ranges.length - 1];
    if (last && number === last[1] + 1) last[1] = number;
    else ranges.push([number, number]);
  }
  const told = ranges.map(([from, to]) => (from === to ? String(from) : `${from}–${to}`));
  return told.length > SHOWN ? `${told.slice(0, SHOWN).join(", ")}, …` : told.join(", ");
}
