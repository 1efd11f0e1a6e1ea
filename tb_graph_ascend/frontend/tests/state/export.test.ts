/* Mapping files. */
import { describe, expect, it } from "vitest";

import { mappingFile, readMappingFile } from "../../src/state/export";

describe("mapping file", () => {
  const pair = { step: 0, rank: null, problem: "a", benchmark: "b", descendants: true };
  it("goes there and back", () => {
    expect(readMappingFile(mappingFile([pair]))).toEqual([pair]);
  });
  it.each(["", "{", "[1]", '{"pairs": {}}', '[{"problem": 1}]'])("refuses %s", (text) => {
    expect(readMappingFile(text)).toBeNull();
  });
});
