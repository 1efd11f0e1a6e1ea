import { describe, expect, it } from "vitest";

import { wordsApart } from "../../src/text/wordsapart";

describe("two lines of code", () => {
  const apart = (line: string, other: string) => [wordsApart(line, other).apart, wordsApart(other, line).apart];
  it("differ in whole words, numbers with their points", () => {
    expect(apart("hardness(score, 0.75, 2.0)", "hardness(score, 2.0, 0.75)")).toEqual(["0.75, 2.0", "2.0, 0.75"]);
    expect(wordsApart("f(x, scale)", "f(x, scales)")).toEqual({ before: "f(x, ", apart: "scale", after: ")" });
  });
  it("may differ in what one lacks", () => {
    expect(apart("return g", "return x * g")).toEqual(["", "x * "]);
    expect(apart("f(x)", "f(x, 1)")).toEqual(["", ", 1"]);
  });
  it("are put together whole, and gaps are no difference", () => {
    const { before, apart: differs, after } = wordsApart("a  = b * c", "a = b / c");
    expect([before, differs, after]).toEqual(["a  = b ", "*", " c"]);
    expect(wordsApart("x x", "x x x")).toEqual({ before: "x x", apart: "", after: "" });
    expect(wordsApart("", "x")).toEqual({ before: "", apart: "", after: "" });
  });
});
