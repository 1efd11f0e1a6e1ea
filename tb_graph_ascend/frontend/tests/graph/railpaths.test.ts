import { describe, expect, it } from "vitest";

import { columnsOf, laneX } from "../../src/graph/grid";
import { endsOf, rowsWithDots, tieOf, trace } from "../../src/graph/railpaths";

const COLUMNS = columnsOf(1200, { comparison: true, folded: false });
const EDGE = { producer: 3, consumer: 9, lane: 2, exact: false };

describe("rails", () => {
  it("are tied to the selected row by the end that it is", () => {
    expect(tieOf(EDGE, 9)).toBe("producer");
    expect(tieOf(EDGE, 3)).toBe("consumer");
    expect(tieOf(EDGE, 4)).toBe("other");
    expect(rowsWithDots([EDGE, { ...EDGE, consumer: 5 }])).toEqual(new Set([3, 9, 5]));
  });

  it.each([0, 2])("in lane %i end in the middle of both rows, in the dots' column", (lane) => {
    const drawn: number[][] = [];
    const path = {
      moveTo: (...at: number[]) => drawn.push(at),
      lineTo: (...at: number[]) => drawn.push(at),
      quadraticCurveTo: (...at: number[]) => drawn.push(at.slice(2)),
    } as unknown as CanvasRenderingContext2D;
    trace(path, endsOf({ ...EDGE, lane }, COLUMNS, (place) => place * 24 + 12));
    const dots = laneX(COLUMNS, 0);
    expect(drawn[0]).toEqual([dots, 3 * 24 + 12]);
    expect(drawn[drawn.length - 1]).toEqual([dots, 9 * 24 + 12]);
    const left = Math.min(...drawn.map(([x = 0]) => x));
    expect(left).toBe(laneX(COLUMNS, lane));
  });
});
