/* A count leads to its rows, however the table was asked before. */
import { expect, it } from "vitest";

import type { NodeRow } from "../../src/api/types";
import { listNodes, listedNodes } from "../../src/state/listing";
import { useApp } from "../../src/state/store";

it("lists the rows of one step and rank in the order chosen, or of all", () => {
  useApp.setState({ table: { scope: "all", sort: "score", descending: true } });
  listNodes("divergent");
  expect(useApp.getState()).toMatchObject({
    leftTab: "nodes",
    query: "divergent",
    table: { scope: "pair", sort: "score", descending: true },
  });
  listNodes("unmatched", "all");
  expect(useApp.getState().table.scope).toBe("all");
});

it("stands for both nodes of a pair and for a lone one alone, whatever has its name in the other run", () => {
  const row = (id: number, match: number | null): Pick<NodeRow, "node"> => ({ node: { id, match, name: "Tensor.transpose.3.forward" } as NodeRow["node"] });
  expect([...listedNodes([row(1, 11), row(12, null)])]).toEqual([1, 11, 12]);
});
