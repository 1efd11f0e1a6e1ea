/* Keys of the tree: they move by rows, open, close, and go to children that are not loaded yet. */
import { describe, expect, it } from "vitest";

import { OutlineRows } from "../../src/outline/rows";
import { outlineMove } from "../../src/state/outlinekeys";
import { addChildren, flatTree, node } from "../sample";

function setUp() {
  const tree = flatTree(3);
  addChildren(tree, 3, 2, 100);
  tree.open(3);
  const press = (key: string, id: number) => {
    const at = tree.get(id);
    if (!at) throw new Error(`no node ${id}`);
    return outlineMove(key, at, tree, new OutlineRows(tree));
  };
  return { tree, press };
}

const place = (move: unknown): [number | undefined, number] => {
  const { parent, position } = move as { parent: { id: number } | null; position: number };
  return [parent?.id, position];
};

describe("outlineMove", () => {
  it("walks rows down and up, into open nodes and out of them", () => {
    const { press } = setUp();
    expect(place(press("ArrowDown", 3))).toEqual([3, 0]);
    expect(place(press("ArrowDown", 101))).toEqual([1, 2]);
    expect(place(press("ArrowUp", 4))).toEqual([3, 1]);
    expect(place(press("ArrowUp", 2))).toEqual([undefined, 0]);
    expect(place(press("End", 2))).toEqual([1, 2]);
  });

  it("opens, enters, closes and leaves with the arrows sideways", () => {
    const { tree, press } = setUp();
    expect(place(press("ArrowRight", 3))).toEqual([3, 0]);
    expect(press("ArrowLeft", 3)).toEqual({ toggle: true });
    expect(place(press("ArrowLeft", 100))).toEqual([1, 1]);
    tree.close(3);
    expect(press("ArrowRight", 3)).toEqual({ toggle: true });
    expect(press("ArrowRight", 2)).toEqual({ stay: true });
  });

  it("names a place even where the child is not loaded", () => {
    const { tree, press } = setUp();
    tree.insert([node({ id: 4, parent: 1, position: 2, depth: 1, children: 900 })]);
    tree.open(4);
    expect(place(press("ArrowDown", 4))).toEqual([4, 0]);
    expect(press("x", 4)).toBeNull();
  });
});
