/* Mapping files. */
import { describe, expect, it } from "vitest";

import { mappingFile, readMappingFile } from "../../src/state/export";

describe("mapping file", () => {
  const pair = { step: 0, rank: null, problem: "a", benchmark: "b", descendants: true };
  it("goes there and back", () => {
    expect(readMappingFile(mappingFile([pair]))).toEqual([pair]);
  });
  it("holds weights for a build beside its pairs", () => {
    const weight = { problem: ["a.qkv"], benchmark: ["b.q", "b.k"], relation: "joined" as const, by_hand: false, node: 3 };
    const text = mappingFile([pair], [weight]);
    expect(readMappingFile(text)).toEqual([pair]);
    expect(JSON.parse(text)).toMatchObject({ weights: [{ problem: ["a.qkv"], benchmark: ["b.q", "b.k"] }] });
    expect(text).not.toContain("joined");
  });
  it.each(["", "{", "[1]", '{"pairs": {}}', '[{"problem": 1}]'])("refuses %s", (text) => {
    expect(readMappingFile(text)).toBeNull();
  });
});
