/* What a mapping left out is told once. */
import { expect, it } from "vitest";

import { refusedOnce } from "../../src/state/refusals";

it("tells a node once for all its places, and two reasons apart", () => {
  const alone = { problem: "Tensor.__mul__.0.forward", benchmark: null, reason: { code: "absent" } };
  const taken = { ...alone, benchmark: "x", reason: { code: "already_matched", side: "problem", partner: "y" } };
  expect(refusedOnce([alone, taken, { ...alone, reason: { code: "absent" } }])).toEqual([
    { ...alone, places: 2 },
    { ...taken, places: 1 },
  ]);
});
