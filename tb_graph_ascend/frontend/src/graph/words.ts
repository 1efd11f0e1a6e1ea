/* What a row says in short: titles, folds, scores – the same on the canvas and for those who hear it. */

import type { DiffRow, RowSide } from "../api/types";
import type { Recolour } from "./appearance";
import { BACK } from "./called";

/** Scores have two digits: below this one reads 0.00. */
export const SHOWN = 0.005;

/** `layers.0` and `layers.23` read as `layers.0–23`. */
export function foldTitle(from: string, until: string): string {
  let same = 0;
  while (same < from.length && from[same] === until[same] && !/\d/.test(from[same] ?? "")) same += 1;
  const shared = from.slice(0, same);
  const rest = until.slice(same);
  return /^\d+$/.test(rest) && shared !== "" ? `${from}–${rest}` : `${from} – ${until}`;
}

export function titleOf(row: DiffRow, side: RowSide): string {
  if (row.fold === 0) return side.title;
  return side.until === "" || side.title === side.until ? side.title : foldTitle(side.title, side.until);
}

export function scoreText(score: number | null): string {
  return score === null ? "" : score.toFixed(2);
}

/** Whether a difference shows in a row: it begins there, is carried on, or stands there though nothing brings it. */
export function differs(row: DiffRow): boolean {
  return isNamed(row) || row.word === "carries" || row.word === "differs";
}

/** Whether the diagnosis names a row, or one inside of it: as a beginning, or as another way to the same result. */
export function isNamed({ word }: DiffRow): boolean {
  return word === "begins" || word === "heals";
}

/** Whether it names the row itself. */
export function isNamedItself(row: DiffRow): boolean {
  return isNamed(row) && !row.inside;
}

/** What is worst inside a closed row: it may be worse than what comes out of it. */
export function insideScore(row: DiffRow): number | null {
  return (row.children > 0 && !row.open) || row.fold > 0 ? row.worst_below : null;
}

const LEVELS = ["medium", "high", "critical"] as const;
type Level = (typeof LEVELS)[number];

/** The words for overflow, in the language of the page. */
export interface LevelTexts {
  level: Record<Level, string>;
  overflow: Record<Level, string>;
}

/** The overflow that a side of a row shows: its own, and while it is closed the worst inside. */
export function sideOverflow(row: DiffRow, side: RowSide | null): Level | null {
  if (!side) return null;
  const closed = (row.children > 0 && !row.open) || row.fold > 0;
  const known = [side.overflow, closed ? side.overflow_below : null].filter((level) => level !== null);
  return LEVELS[Math.max(-1, ...known.map((level) => LEVELS.indexOf(level)))] ?? null;
}

/** What stands after a title, the longest first: where there is no room for all, the class goes, for the other
 * words are of this row alone, then what the level is of. A level is told where rows are coloured by it, and else
 * only where NaN or infinity begins: a norm that grows is no alarm to those who did not ask. */
export function asidesOf(row: DiffRow, side: RowSide, texts: LevelTexts, recolour: Recolour): string[] {
  const count = row.fold !== 0 ? `× ${Math.abs(row.fold)}` : "";
  const call = side.call === null || row.fold !== 0 ? "" : `#${side.call}`;
  const back = row.direction === "backward" ? BACK : "";
  const known = sideOverflow(row, side);
  const level = recolour === "overflow" || known === "critical" ? known : null;
  const overflow = level === null ? "" : texts.overflow[level];
  const word = level === null ? "" : texts.level[level];
  const type = row.kind === "api" ? "" : side.detail;
  const join = (words: string[]): string => words.filter(Boolean).join("  ");
  return [[count, call, back, type, overflow], [count, call, back, overflow], [count, call, back, word]].map(join);
}

/** What tells calls of one name apart, which no row may lose: number and mark of what ran backward. */
export function markOf(row: DiffRow, side: RowSide): string {
  if (side.call === null || row.fold !== 0) return "";
  return row.direction === "backward" ? `#${side.call}  ${BACK}` : `#${side.call}`;
}

/** The overflow that colours a row: the problem's, or the benchmark's where it stands alone. */
export function shownOverflow(row: DiffRow): Level | null {
  return sideOverflow(row, row.problem ?? row.benchmark);
}

/** The score that colours a row: its own, or for closed modules what is worst in them. */
export function shownScore(row: DiffRow): number | null {
  if (row.open || (row.children === 0 && row.fold === 0)) return row.score;
  const known = [row.score, row.worst_below].filter((score) => score !== null);
  return known.length > 0 ? Math.max(...known) : null;
}
