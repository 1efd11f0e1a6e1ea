/* What is pointed at in a heat map are the elements that the server put there. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";

import type { Heat } from "../../src/api/types";
import { cellAt, indexOf } from "../../src/graph/heatcells";

describe("a cell of a heat map", () => {
  it("stands for the elements that fall into it, each in one cell", () => {
    const sizes = fc.record({ rows: fc.integer({ min: 1, max: 40 }), columns: fc.integer({ min: 1, max: 40 }), most: fc.integer({ min: 1, max: 16 }) });
    fc.assert(
      fc.property(sizes, ({ rows, columns, most }) => {
        const [high, wide] = [Math.min(rows, most), Math.min(columns, most)];
        const cells = Array.from({ length: high }, () => Array.from({ length: wide }, () => 0));
        const heat: Heat = { shape: [rows, columns], rows, columns, at: null, cells, largest: 0 };
        const seen = new Set<number>();
        for (let y = 0; y < high; y += 1) {
          for (let x = 0; x < wide; x += 1) {
            const cell = cellAt(heat, (x + 0.5) / wide, (y + 0.5) / high);
            for (let row = Math.floor((cell?.first ?? 0) / columns); row <= Math.floor((cell?.last ?? -1) / columns); row += 1) {
              for (let column = (cell?.first ?? 0) % columns; column <= (cell?.last ?? 0) % columns; column += 1) {
                // As the server has it.
                expect([Math.floor((row * high) / rows), Math.floor((column * wide) / columns)]).toEqual([y, x]);
                seen.add(row * columns + column);
              }
            }
          }
        }
        expect(seen.size).toBe(rows * columns);
      }),
    );
  });

  it("is nothing outside of the picture", () => {
    expect(cellAt({ shape: [1, 1], rows: 1, columns: 1, at: null, cells: [[1]], largest: 1 }, 1.2, 0)).toBeNull();
  });

  it("says an index as the tensor has it", () => {
    expect(indexOf(23, [2, 3, 4])).toBe("1, 2, 3");
    expect(indexOf(0, [])).toBe("");
  });
});
