import { expect, it } from "vitest";

import { entryLabel, resultFileLabel } from "../../src/text/resultfiles";

it.each([
  ["out/compare_20261122112611.vis.db", "11-22 11:26:11 · out/compare"],
  ["out/compare_20251122112611.vis.db", "2025-11-22 11:26:11 · out/compare"],
  ["late/two.vis.db", "late/two.vis.db"],
  ["compare_2026.vis.db", "compare_2026.vis.db"],
])("%s is listed as %s", (path, label) => {
  expect(resultFileLabel(path, new Date(2026, 5))).toBe(label);
});

it.each([
  [{ problem: "/job/run-fp16", benchmark: "/job/run-fp32" }, "a/b.vis.db · run-fp16 ↔ run-fp32"],
  [{ problem: "/job/a/dump", benchmark: "/job/b/dump" }, "a/b.vis.db · a/dump ↔ b/dump"],
  [{ problem: "/job/run", benchmark: null }, "a/b.vis.db · run"],
  [{ problem: null, benchmark: null }, "a/b.vis.db"],
  [{ problem: null, benchmark: null, error: "is cut short" }, "a/b.vis.db – is cut short"],
])("says what a file compares: %j", (runs, line) => {
  expect(entryLabel({ id: "x", path: "a/b.vis.db", size: 1, modified: 1, error: null, mapped: null, ...runs })).toBe(line);
});
