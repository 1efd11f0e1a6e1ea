import { describe, expect, it } from "vitest";

import { runName } from "../../src/text/runs";

describe("the name of a run", () => {
  it.each([
    ["demo/problem", "demo/benchmark", "demo/", "problem"],
    ["/data/fp16/step/dump", "/data/fp32/step/dump", "data/", "fp16/step/dump"],
    ["a\\x", "b\\x", "", "a\\x".replace("\\", "/")],
    ["/tmp/job/logs/ported/deep/dump", "/work/samples/bench", "", "tmp/…/deep/dump"],
    ["/same/dump", "/same/dump", "same/", "dump"],
    ["/same", "/same/below", "", "same"],
    ["", "b", "", ""],
  ])("%s beside %s", (path, other, folder, name) => {
    expect(runName(path, other)).toEqual({ folder, name });
  });
});
