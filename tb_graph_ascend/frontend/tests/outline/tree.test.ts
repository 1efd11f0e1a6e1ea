/* The tree of what is loaded, and the outline's rows over it. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { OutlineRows } from "../../src/outline/rows";
import { addChildren, flatTree, node } from "../sample";

describe("GraphTree", () => {
  it("opens only what has children, and keeps the root open", () => {
    const tree = flatTree(3);
    expect(tree.open(2)).toBe(false);
    addChildren(tree, 2, 2, 100);
    expect(tree.open(2)).toBe(true);
    expect(tree.close(1)).toBe(false);
    expect(tree.openChildren(1).map(({ id }) => id)).toEqual([2]);
  });

  it("remembers what was open below a closed node", () => {
    const tree = flatTree(2);
    addChildren(tree, 2, 2, 100);
    addChildren(tree, 100, 1, 200);
    tree.open(2);
    tree.open(100);
    tree.close(2);
    expect(tree.isVisible(200)).toBe(false);
    tree.open(2);
    expect(tree.isVisible(200)).toBe(true);
  });

  it("takes no node of another graph", () => {
    const tree = flatTree(2);
    tree.insert([node({ id: 50, graph: 9, parent: 1, position: 0 })]);
    expect(tree.get(50)).toBeUndefined();
    expect(tree.childAt(1, 0)?.id).toBe(2);
  });

  it("leaves holes for children that are not loaded", () => {
    const tree = flatTree(0);
    tree.insert([node({ id: 7, parent: 1, position: 3 })]);
    expect(tree.childAt(1, 2)).toBeUndefined();
    expect(tree.childAt(1, 3)?.id).toBe(7);
  });
});

describe("OutlineRows", () => {
  it("numbers rows as a walk through the open tree does", () => {
    const openings = fc.uniqueArray(fc.integer({ min: 2, max: 20 }));
    fc.assert(
      fc.property(openings, (opened) => {
        const tree = flatTree(19);
        opened.forEach((id, index) => addChildren(tree, id, 2 + (index % 3), 1000 * (index + 1)));
        opened.forEach((id) => tree.open(id));
        const rows = new OutlineRows(tree);
        const walked: number[] = [];
        const walk = (id: number): void => {
          walked.push(id);
          if (!tree.isOpen(id)) return;
          const count = tree.get(id)?.children ?? 0;
          for (let at = 0; at < count; at += 1) walk(tree.childAt(id, at)?.id ?? -1);
        };
        walk(1);
        expect(rows.count).toBe(walked.length);
        walked.forEach((id, row) => {
          const place = rows.at(row);
          const shown = place?.parent == null ? tree.root : tree.childAt(place.parent, place.position);
          expect(shown?.id).toBe(id);
          const found = tree.get(id);
          if (found) expect(rows.indexOf(found.parent, found.position)).toBe(row);
        });
      }),
    );
  });
});
