import { expect, it } from "vitest";

import { tickText } from "../../src/text/numbers";

it("writes no tick of a logarithmic axis as 0", () => {
  const decades = Array.from({ length: 25 }, (_, index) => 10 ** (index - 12));
  for (const tick of decades) expect(Number(tickText(tick))).toBeCloseTo(tick, 15);
  expect([0.0001, 0.02, 5, 2000].map(tickText)).toEqual(["1e-4", "0.02", "5", "2e3"]);
  expect(tickText(null)).toBe("");
});
