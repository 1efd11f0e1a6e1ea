/* The tree of what is loaded, and the outline's rows over it. */
import { describe, expect, it } from "vitest";

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
