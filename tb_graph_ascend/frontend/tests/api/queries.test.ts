/* What is shown while an answer is on its way. */

import { describe, expect, it } from "vitest";

import { detailsQuery } from "../../src/api/queries";
import type { NodeDetails } from "../../src/api/types";

describe("the details of a node", () => {
  const before = { values: [] } as unknown as NodeDetails;
  const shown = (db: string) => {
    const meanwhile = detailsQuery(db, 7).placeholderData;
    return typeof meanwhile === "function" ? meanwhile(before, { queryKey: ["db", "one", "details", 3] } as never) : meanwhile;
  };

  it("of the same file stand until those of the next node come", () => {
    expect(shown("one")).toBe(before);
  });

  it("of another file are gone at once: what they would ask for is not in this one", () => {
    expect(shown("other")).toBeUndefined();
  });
});
