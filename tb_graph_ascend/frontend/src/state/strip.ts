/* Places in the strip of ranks: which cell a step and rank is in, and where the arrows lead. */

import type { RankStrip } from "../api/types";

export interface StripPlace {
  row: number;
  column: number;
}

/** The cell of a step and rank; null where the strip has none. */
export function placeIn({ steps, rows }: RankStrip, step: number | null, rank: number | null): StripPlace | null {
  if (step === null || rank === null) return null;
  const row = rows.findIndex(({ ranks }) => ranks.includes(rank));
  const column = steps.indexOf(step);
  return row < 0 || column < 0 ? null : { row, column };
}

/** The row whose ranks begin to diverge before all others; −1 where none does, or several do at once. */
export function earliestRow({ rows }: RankStrip): number {
  const [first, second] = rows;
  if (!first || !second || first.first === null) return -1;
  return second.first !== first.first || second.begins !== first.begins ? 0 : -1;
}

/** The rank that choosing a row opens: the one on screen where it is in the row, else its first. */
export function rankAt({ rows }: RankStrip, row: number, current: number | null): number | null {
  const ranks = rows[row]?.ranks ?? [];
  return current !== null && ranks.includes(current) ? current : (ranks[0] ?? null);
}

/** Where a key leads; null for keys that are none of the strip's. */
export function moveInStrip({ steps, rows }: RankStrip, from: StripPlace, key: string): StripPlace | null {
  const last = { row: rows.length - 1, column: steps.length - 1 };
  const to: Partial<Record<string, StripPlace>> = {
    ArrowLeft: { ...from, column: Math.max(0, from.column - 1) },
    ArrowRight: { ...from, column: Math.min(last.column, from.column + 1) },
    ArrowUp: { ...from, row: Math.max(0, from.row - 1) },
    ArrowDown: { ...from, row: Math.min(last.row, from.row + 1) },
    Home: { ...from, column: 0 },
    End: { ...from, column: last.column },
  };
  return to[key] ?? null;
}
