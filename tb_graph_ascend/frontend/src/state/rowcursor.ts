/* Which row of the nodes table is stepped to, from the search box or in the table itself. */

import { create } from "zustand";

import type { NodeRow } from "../api/types";
import { goTo } from "./actions";

interface RowCursor {
  /** The question that the row belongs to. */
  asked: string;
  index: number;
}

export const useRowCursor = create<RowCursor>()(() => ({ asked: "", index: -1 }));

/** The row stepped to in the answer to a question; −1 where there was none. */
export function rowIndex({ asked, index }: RowCursor, question: string): number {
  return asked === question ? index : -1;
}

/** Step to a row and show its node, in its step and rank. */
export function chooseRow(asked: string, index: number, row: NodeRow): void {
  useRowCursor.setState({ asked, index });
  void goTo({ step: row.step, rank: row.rank, node: row.node.id });
}

/** The row after (+1) or before (−1) another, around the end; null in an empty table. */
export function nextRow(index: number, shift: 1 | -1, count: number): number | null {
  if (count === 0) return null;
  const start = index < 0 && shift < 0 ? 0 : index;
  return (start + shift + count) % count;
}
