/* Which row of the nodes table is stepped to, also when it left the list meanwhile. */
import { describe, expect, it } from "vitest";

import type { NodeRow } from "../../src/api/types";
import { nextRow, rowIndex, stepFrom } from "../../src/state/rowcursor";

const rows = (...ids: number[]) => ids.map((id) => ({ node: { id } })) as NodeRow[];

describe("the row stepped to", () => {
  const cursor = { asked: "unmatched", index: 1, node: 20 };
  it("is the one chosen, of the same question", () => {
    expect(rowIndex(cursor, "unmatched", rows(10, 20, 30))).toBe(1);
    expect(rowIndex(cursor, "score>0", rows(10, 20, 30))).toBe(-1);
  });
  it("is none once it is not in the list any more, and the next is what took its place", () => {
    const left = rows(10, 30);
    expect(rowIndex(cursor, "unmatched", left)).toBe(-1);
    expect(nextRow(stepFrom(cursor, "unmatched", left, 1), 1, 2)).toBe(1);
    expect(nextRow(stepFrom(cursor, "unmatched", left, -1), -1, 2)).toBe(0);
    const first = { ...cursor, index: 0 };
    expect(nextRow(stepFrom(first, "unmatched", left, 1), 1, 2)).toBe(0);
  });
});
