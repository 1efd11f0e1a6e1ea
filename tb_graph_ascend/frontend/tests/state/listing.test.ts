/* A count leads to its rows, however the table was asked before. */
import { expect, it } from "vitest";

import { listNodes } from "../../src/state/listing";
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
