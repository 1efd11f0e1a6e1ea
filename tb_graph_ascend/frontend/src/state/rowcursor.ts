/* Which row of the nodes table is stepped to, from the search box or in the table itself. */

import { create } from "zustand";

import type { NodeRow } from "../api/types";
import { goTo } from "./actions";

interface RowCursor {
  /** The question that the row belongs to. */
  asked: string;
  index: number;
  /** The node of that row: once it is another's, as when a mapping took it off the list, none is stepped to. */
  node: number | null;
}

export const useRowCursor = create<RowCursor>()(() => ({ asked: "", index: -1, node: null }));

/** The row stepped to in the answer to a question; −1 where there was none, or it is not in the list any more. */
export function rowIndex({ asked, index, node }: RowCursor, question: string, rows: readonly NodeRow[]): number {
  return asked === question && rows[index]?.node.id === node ? index : -1;
}

/** Where the next step goes on from: of a row that went, from between its neighbours. */
export function stepFrom(cursor: RowCursor, question: string, rows: readonly NodeRow[], shift: 1 | -1): number {
  if (cursor.asked !== question || rowIndex(cursor, question, rows) >= 0) return rowIndex(cursor, question, rows);
  return shift > 0 ? cursor.index - 1 : cursor.index;
}

/** Step to a row and show its node, in its step and rank. */
export function chooseRow(asked: string, index: number, row: NodeRow): void {
  useRowCursor.setState({ asked, index, node: row.node.id });
  void goTo({ step: row.step, rank: row.rank, node: row.node.id });
}

/** The row after (+1) or before (−1) another, around the end; null in an empty table. */
export function nextRow(index: number, shift: 1 | -1, count: number): number | null {
  if (count === 0) return null;
  const start = index < 0 && shift < 0 ? 0 : index;
  return (start + shift + count) % count;
}
