/* Which rows of the values table show an argument in the column of norms. */
import { expect, it } from "vitest";

import type { Value, ValuePair } from "../../src/api/types";
import { columnsFor, isArgument, keyOf } from "../../src/state/columns";

it("tells a plain argument from a tensor, whichever side has it", () => {
  const argument = { dtype: null, scalar: "1.5" } as Value;
  const tensor = { dtype: "float32", scalar: null } as Value;
  const pair = (problem: Value | null, benchmark: Value | null) => ({ problem, benchmark }) as ValuePair;
  expect([pair(argument, null), pair(null, argument), pair(tensor, tensor)].map(isArgument)).toEqual([true, true, false]);
});

it("shows no relative error of what has none: of two texts, or of tensors of other shapes", () => {
  const relative = columnsFor("statistics", true).find(({ key }) => key === "relative");
  const of = (problem: Partial<Value>, benchmark: Partial<Value>, differs: string[] = [], error_of: string | null = null) =>
    relative?.of({ problem, benchmark, differs, error: "Infinity", error_of } as unknown as ValuePair);
  expect(of({ dtype: null, scalar: '"bilinear"' }, { dtype: null, scalar: '"nearest"' })).toBeNull();
  expect(of({ dtype: "float32", scalar: null }, { dtype: "float32", scalar: null }, ["shape"])).toBeNull();
  expect(of({ dtype: "float32", scalar: null }, { dtype: "float32", scalar: null }, [], "norm")).toBe("Infinity");
  expect(of({ dtype: null, scalar: "2" }, { dtype: null, scalar: "4" })).toBe(0.5);
});

it("has a key a value, of those too that each run has by one path and the other lacks", () => {
  const one = {} as Value;
  const pair = (problem: Value | null, benchmark: Value | null) => ({ role: "input", path: "1", problem, benchmark }) as ValuePair;
  const keys = [pair(one, one), pair(one, null), pair(null, one)].map(keyOf);
  expect(new Set(keys).size).toBe(3);
});
