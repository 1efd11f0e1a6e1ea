/* What a node is called where one speaks of it. */
import { describe, expect, it } from "vitest";

import { calledAs } from "../../src/graph/called";
import { labelOfName } from "../../src/graph/labels";

describe("calledAs", () => {
  it.each([
    ["Tensor.__mul__.39.forward", "__mul__ #39"],
    ["Functional.linear.7.backward", "linear #7 ↩"],
    ["Module.layers.1.mlp.MLP.backward.0", "layers.1.mlp ↩"],
    ["Module.layers.1.mlp.fc2.Linear.forward.0", "layers.1.mlp.fc2"],
    ["Module.layers.1.mlp.fc2.Linear.parameters_grad.0", "layers.1.mlp.fc2.parameters_grad ↩"],
  ])("%s is %s", (name, called) => {
    expect(calledAs({ name, ...labelOfName(name) })).toBe(called);
  });
});
