import { expect, it } from "vitest";

import { besideTexts, tickText } from "../../src/text/numbers";

it("writes no tick of a logarithmic axis as 0", () => {
  const decades = Array.from({ length: 25 }, (_, index) => 10 ** (index - 12));
  for (const tick of decades) expect(Number(tickText(tick))).toBeCloseTo(tick, 15);
  expect([0.0001, 0.02, 5, 2000].map(tickText)).toEqual(["1e-4", "0.02", "5", "2e3"]);
  expect(tickText(null)).toBe("");
});

// The same cases as tests/builder/reasons/test_beside.py has, with the zeros of four digits.
it.each([
  [0.5, 0.25, "0.5000", "0.2500"],
  [0.99999, 1, "0.99999", "1"],
  [0.9999, 0.999995, "0.9999", "0.99999"],
  [0.99999, 0.999999, "0.99999", "0.999999"],
  [31.98764, 31.9871, "31.9876", "31.9871"],
  [1000000, 1000001, "1e6", "1.000001e6"],
  [12.34567, 12.34567, "12.35", "12.35"],
])("shows how far %s and %s are apart", (one, other, ours, theirs) => {
  expect(besideTexts(one, other)).toEqual([ours, theirs]);
  expect(besideTexts(other, one)).toEqual([theirs, ours]);
});

it("leaves a number beside none, or beside one that is not finite, at four digits", () => {
  expect(besideTexts(0.123456, undefined)).toEqual(["0.1235", "–"]);
  expect(besideTexts(0.123456, "nan")).toEqual(["0.1235", "NaN"]);
});
