/* How numbers are shown in sentences. */
import { expect, it } from "vitest";

import { percent } from "../../src/i18n/setup";

it.each([
  [0, "0.0 %"],
  [0.5, "50.0 %"],
  [0.001, "0.1 %"],
  [8.2e-5, "0.0082 %"],
  [40, "4000 %"],
  [3.06e9, "3.1e+11 %"],
])("a share of %d is %s", (share, shown) => {
  expect(percent(share)).toBe(shown);
});
