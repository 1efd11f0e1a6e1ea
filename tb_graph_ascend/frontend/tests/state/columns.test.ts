/* Which rows of the values table show an argument in the column of norms. */
import { expect, it } from "vitest";

import type { Value, ValuePair } from "../../src/api/types";
import { isArgument } from "../../src/state/columns";

it("tells a plain argument from a tensor, whichever side has it", () => {
  const argument = { dtype: null, scalar: "1.5" } as Value;
  const tensor = { dtype: "float32", scalar: null } as Value;
  const pair = (problem: Value | null, benchmark: Value | null) => ({ problem, benchmark }) as ValuePair;
  expect([pair(argument, null), pair(null, argument), pair(tensor, tensor)].map(isArgument)).toEqual([true, true, false]);
});
