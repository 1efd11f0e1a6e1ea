/* Tables for spreadsheets, and mapping files. */
import { describe, expect, it } from "vitest";

import { mappingFile, readMappingFile, toCsv } from "../../src/state/export";

describe("toCsv", () => {
  it("quotes as RFC 4180 says", () => {
    expect(toCsv(["a", "b"], [['x"y', "1,2"], [null, 3]])).toBe('a,b\r\n"x""y","1,2"\r\n,3\r\n');
  });
  it("lets no name from a file become a formula", () => {
    expect(toCsv(["a"], [["=1+1"], ["@x"], ["-1.5"]])).toBe("a\r\n'=1+1\r\n'@x\r\n-1.5\r\n");
  });
});

describe("mapping file", () => {
  const pair = { step: 0, rank: null, problem: "a", benchmark: "b", descendants: true };
  it("goes there and back", () => {
    expect(readMappingFile(mappingFile([pair]))).toEqual([pair]);
  });
  it.each(["", "{", "[1]", '{"pairs": {}}', '[{"problem": 1}]'])("refuses %s", (text) => {
    expect(readMappingFile(text)).toBeNull();
  });
});
