import { expect, it } from "vitest";

import { resultFileLabel } from "../../src/text/resultfiles";

it.each([
  ["out/compare_20261122112611.vis.db", "11-22 11:26:11 · out/compare"],
  ["out/compare_20251122112611.vis.db", "2025-11-22 11:26:11 · out/compare"],
  ["late/two.vis.db", "late/two.vis.db"],
  ["compare_2026.vis.db", "compare_2026.vis.db"],
])("%s is listed as %s", (path, label) => {
  expect(resultFileLabel(path, new Date(2026, 5))).toBe(label);
});
