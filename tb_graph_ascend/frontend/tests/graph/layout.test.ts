/* Layout, culling and hit test: three views of the same boxes that must agree. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { intersects, positionsOf, visibleIn } from "../../src/graph/culling";
import { hitTest } from "../../src/graph/hit";
import { type OpenBox, type Rect, cellOf, layoutTree, rectOf } from "../../src/graph/layout";
import { addChildren, flatTree } from "../sample";

function nestedTree(count: number, opened: number[]) {
  const tree = flatTree(count);
  opened.forEach((id, index) => {
    if (!tree.get(id)) return;
    addChildren(tree, id, 3 + index, 1000 * (index + 1));
    tree.open(id);
  });
  return tree;
}

const trees = fc
  .tuple(fc.integer({ min: 1, max: 80 }), fc.uniqueArray(fc.integer({ min: 2, max: 60 })))
  .map(([count, opened]) => nestedTree(count, opened));

describe("layoutTree", () => {
  it("keeps every child inside its parent and siblings apart", () => {
    fc.assert(
      fc.property(trees, (tree) => {
        const layout = layoutTree(tree);
        for (const box of layout.boxes.values()) {
          const rects = cellsAndBoxes(box);
          rects.forEach((rect) => expect(inside(rect, box)).toBe(true));
          for (const [index, rect] of rects.entries()) {
            for (const other of rects.slice(index + 1)) expect(intersects(rect, other)).toBe(false);
          }
        }
      }),
      { numRuns: 40 },
    );
  });

  it("reads in execution order: later children stand below or to the right", () => {
    fc.assert(
      fc.property(trees, (tree) => {
        const layout = layoutTree(tree);
        const places = Array.from({ length: tree.root.children }, (_, position) => {
          const child = tree.childAt(1, position);
          return child && rectOf(layout, child);
        });
        for (const [index, place] of places.entries()) {
          const next = places[index + 1];
          if (!place || !next) continue;
          expect(next.y > place.y || (next.y === place.y && next.x > place.x)).toBe(true);
        }
      }),
      { numRuns: 40 },
    );
  });

  it("needs counts only: 20,000 unloaded children lay out at once", () => {
    const big = flatTree(1);
    addChildren(big, 2, 20_000, 10);
    big.open(2);
    const layout = layoutTree(big);
    expect(layout.boxes.size).toBe(2);
  });
});

describe("hitTest", () => {
  it("finds each node in the middle of its own rectangle", () => {
    fc.assert(
      fc.property(trees, (tree) => {
        const layout = layoutTree(tree);
        for (const node of tree.loaded()) {
          const rect = rectOf(layout, node);
          if (!rect || !tree.isVisible(node.id)) continue;
          const open = layout.boxes.has(node.id);
          const hit = hitTest(layout, rect.x + 4, rect.y + (open ? 4 : rect.height / 2));
          expect([hit?.parent, hit?.position]).toEqual([node.parent, node.position]);
        }
      }),
      { numRuns: 40 },
    );
  });

  it("finds nothing outside the root", () => {
    expect(hitTest(layoutTree(flatTree(3)), -5, 10)).toBeNull();
  });
});

describe("visibleIn", () => {
  it("shows exactly the cells that touch the rectangle", () => {
    const view = fc.record({
      x: fc.integer({ min: -200, max: 800 }),
      y: fc.integer({ min: -200, max: 2500 }),
      width: fc.integer({ min: 1, max: 900 }),
      height: fc.integer({ min: 1, max: 900 }),
    });
    fc.assert(
      fc.property(trees, view, (tree, rect) => {
        const layout = layoutTree(tree);
        const seen = visibleIn(layout, rect);
        const shown = new Set<string>();
        for (const visible of seen.runs) {
          const { run, rows, columns } = visible;
          for (let row = rows[0]; row < rows[1]; row += 1) {
            for (let column = columns[0]; column < columns[1]; column += 1) {
              shown.add(`${run.parent}:${run.first + row * run.columns + column}`);
            }
          }
        }
        for (const box of layout.boxes.values()) {
          for (const item of box.items) {
            if (item.kind !== "run") continue;
            for (let at = item.first; at < item.first + item.count; at += 1) {
              if (intersects(cellOf(item, at), rect)) {
                expect(shown.has(`${item.parent}:${at}`)).toBe(true);
              }
            }
          }
        }
      }),
      { numRuns: 60 },
    );
  });

  it("asks for the pages of what is in view only", () => {
    const tree = flatTree(1);
    addChildren(tree, 2, 20_000, 10);
    tree.open(2);
    const layout = layoutTree(tree);
    const { runs } = visibleIn(layout, { x: 0, y: 3000, width: 500, height: 500 });
    const [first, last] = runs[0] ? positionsOf(runs[0]) : [0, 0];
    expect(first).toBeGreaterThan(0);
    expect(last - first).toBeLessThan(2000);
  });
});

function cellsAndBoxes(box: OpenBox): Rect[] {
  return box.items.flatMap((item) =>
    item.kind === "box"
      ? [item]
      : Array.from({ length: item.count }, (_, index) => cellOf(item, item.first + index)),
  );
}

function inside(rect: Rect, box: Rect): boolean {
  return (
    rect.x >= box.x &&
    rect.y >= box.y &&
    rect.x + rect.width <= box.x + box.width &&
    rect.y + rect.height <= box.y + box.height
  );
}
