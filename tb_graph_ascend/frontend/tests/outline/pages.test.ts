/* Pages of children: each asked for once, those in view first, failures can be retried. */
import { describe, expect, it } from "vitest";

import type { Children } from "../../src/api/types";
import { ChildPages, PAGE } from "../../src/outline/pages";
import { GraphTree } from "../../src/outline/tree";
import { node } from "../sample";

function setUp(total: number, fails = false) {
  const tree = new GraphTree(node({ id: 1, kind: "root", children: total }));
  const asked: number[] = [];
  const failures: unknown[] = [];
  const fetchPage = (parent: number, offset: number, limit: number): Promise<Children> => {
    asked.push(offset);
    if (fails) return Promise.reject(new Error("down"));
    const children = Array.from({ length: Math.min(limit, total - offset) }, (_, index) =>
      node({ id: 10 + offset + index, parent, position: offset + index }),
    );
    return Promise.resolve({ parent, total, offset, children });
  };
  const pages = new ChildPages(tree, fetchPage, () => undefined, (error) => failures.push(error));
  return { tree, pages, asked, failures };
}

const settle = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 5));

describe("ChildPages", () => {
  it("loads what is in view, each page once", async () => {
    const { tree, pages, asked } = setUp(20_000);
    pages.show([{ parent: 1, first: 700, last: 1300 }]);
    pages.show([{ parent: 1, first: 700, last: 1300 }]);
    await settle();
    expect(asked.sort((a, b) => a - b)).toEqual([PAGE, 2 * PAGE]);
    expect(tree.childAt(1, 1300)?.id).toBe(1310);
    expect(tree.childAt(1, 0)).toBeUndefined();
  });

  it("drops what was in view and is no longer", async () => {
    const { pages, asked } = setUp(20_000);
    pages.show([{ parent: 1, first: 0, last: 19_999 }]);
    pages.show([{ parent: 1, first: 10_000, last: 10_010 }]);
    await settle();
    expect(asked).toContain(10_000);
    expect(asked.length).toBeLessThan(8);
  });

  it("loads a single position at once", async () => {
    const { tree, pages } = setUp(3000);
    await pages.load(1, 2600);
    expect(tree.childAt(1, 2600)).toBeDefined();
  });

  it("reports failures and asks again after retry", async () => {
    const { pages, asked, failures } = setUp(10, true);
    pages.want(1, 3);
    await settle();
    expect(failures).toHaveLength(1);
    pages.want(1, 3);
    expect(asked).toHaveLength(1);
    pages.retry();
    pages.want(1, 3);
    expect(asked).toHaveLength(2);
  });
});
