import { expect, it } from "vitest";

import { fileLines, lineText, resultFileLabel } from "../../src/text/resultfiles";

it.each([
  ["out/compare_20261122112611.vis.db", "11-22 11:26:11 · out/compare"],
  ["out/compare_20251122112611.vis.db", "2025-11-22 11:26:11 · out/compare"],
  ["late/two.vis.db", "late/two.vis.db"],
  ["compare_2026.vis.db", "compare_2026.vis.db"],
])("%s is listed as %s", (path, label) => {
  expect(resultFileLabel(path, new Date(2026, 5))).toBe(label);
});

const entry = (runs: { problem: string | null; benchmark: string | null; error?: string }, id = "x") => ({
  id,
  path: "a/b.vis.db",
  size: 1,
  modified: 1,
  error: null,
  mapped: null,
  ...runs,
});

it.each([
  [{ problem: "/job/run-fp16", benchmark: "/job/run-fp32" }, "a/b.vis.db · run-fp16 ↔ run-fp32"],
  [{ problem: "/job/a/dump", benchmark: "/job/b/dump" }, "a/b.vis.db · a/dump ↔ b/dump"],
  [{ problem: "/job/run", benchmark: null }, "a/b.vis.db · run"],
  [{ problem: null, benchmark: null }, "a/b.vis.db"],
  [{ problem: null, benchmark: null, error: "is cut short" }, "a/b.vis.db · is cut short"],
])("says what a file compares: %j", (runs, line) => {
  expect(lineText(fileLines([entry(runs)]).get("x") ?? { file: "", holds: "" })).toBe(line);
});

it("leaves no folder out where two files would read alike", () => {
  const run = (job: string, side: string): string => `/data/${side}/team/${job}/out/step/dump`;
  const lines = fileLines([
    entry({ problem: run("monday", "new"), benchmark: run("monday", "old") }, "first"),
    entry({ problem: run("tuesday", "new"), benchmark: run("tuesday", "old") }, "second"),
    entry({ problem: "/other/new", benchmark: "/other/old" }, "third"),
  ]);
  expect(lines.get("first")?.holds).toBe("new/team/monday/out/step/dump ↔ old/team/monday/out/step/dump");
  expect(lines.get("second")?.holds).toContain("tuesday");
  expect(lines.get("third")?.holds).toBe("new ↔ old");
  const alone = fileLines([entry({ problem: run("monday", "new"), benchmark: run("monday", "old") }, "first")]);
  expect(alone.get("first")?.holds).toBe("new/…/step/dump ↔ old/…/step/dump");
});

it("begins with the folder that tells apart what two files compare, however far above it stands", () => {
  const pair = (folder: string, id: string) => entry({ problem: `${folder}/problem`, benchmark: `${folder}/bench` }, id);
  const lines = fileLines([pair("/samples/tensor", "a"), pair("/samples/ranks", "b"), pair("/samples/tensor", "c")]);
  expect([...lines.values()].map(({ holds }) => holds)).toEqual(["tensor/problem ↔ bench", "ranks/problem ↔ bench", "tensor/problem ↔ bench"]);
  const far = fileLines([pair("/monday/x", "a"), pair("/tuesday/x", "b")]);
  expect([...far.values()].map(({ holds }) => holds)).toEqual(["monday/x/problem ↔ bench", "tuesday/x/problem ↔ bench"]);
});

it("tells graphs of one run apart by the folders above where their own are called alike", () => {
  const lines = fileLines([entry({ problem: "/a/dump", benchmark: null }, "a"), entry({ problem: "/b/dump", benchmark: null }, "b")]);
  expect([...lines.values()].map(({ holds }) => holds)).toEqual(["a/dump", "b/dump"]);
});

it("tells a rebuild from what it was made of: by its time where stems are alike, by when it was written else", () => {
  const runs = { problem: "/job/new", benchmark: "/job/old" };
  const at = (id: string, path: string, modified = 1) => ({ ...entry(runs, id), path, modified });
  const now = new Date(2026, 5);
  const files = (entries: Parameters<typeof fileLines>[0]) => [...fileLines(entries, now).values()].map(({ file }) => file);
  const [first, second] = ["compare_20261122112611.vis.db", "compare_20261122122611.vis.db"];
  expect(files([at("a", first), at("b", second), at("c", "late/two_20261122112611.vis.db")])).toEqual([
    "11-22 11:26:11 · compare",
    "11-22 12:26:11 · compare",
    "late/two · 11-22 11:26:11",
  ]);
  const written = (hour: number) => new Date(2026, 10, 22, hour, 26, 11).getTime() / 1000;
  expect(files([at("a", "run.vis.db", written(11)), at("b", "run.vis.db", written(12))])).toEqual([
    "11-22 11:26:11 · run.vis.db",
    "11-22 12:26:11 · run.vis.db",
  ]);
  expect(files([at("a", "run.vis.db"), at("b", "other.vis.db")])).toEqual(["run.vis.db", "other.vis.db"]);
});
