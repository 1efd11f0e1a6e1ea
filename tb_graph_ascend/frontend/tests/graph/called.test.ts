/* What a node is called where one speaks of it. */
import { describe, expect, it } from "vitest";

import { calledAs, calledBriefly } from "../../src/graph/called";
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

it.each([
  ["Module.up.2.Block.forward.0", "2", "up.2"],
  ["Module.layers.0.1.Block.backward.0", "1", "layers.0.1"],
  ["Module.2.Block.forward.0", "2", "2 (Block)"],
  ["Module.rnn.LSTM.forward.1", "rnn", "rnn #1"],
  ["Module.layers.1.mlp.MLP.forward.0", "mlp", "mlp"],
  ["Module.net.conv2.Conv2d.forward.0", "conv2", "conv2"],
])("%s beside its module is no bare number where its path is longer", (name, label, called) => {
  expect(calledBriefly({ name, kind: "module", label })).toBe(called);
});
