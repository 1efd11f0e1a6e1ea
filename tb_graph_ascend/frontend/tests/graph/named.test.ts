/* Names in sentences: found whole, told as the rows tell them, and nothing else taken for one. */
import { describe, expect, it } from "vitest";

import { namedPieces, toldBriefly } from "../../src/graph/named";

describe("names in a sentence", () => {
  it("are told by call and number, or by module", () => {
    expect(toldBriefly("reads what Torch.sigmoid.4.forward put out, not Functional.linear.25.backward.")).toBe(
      "reads what sigmoid #4 put out, not linear #25 ↩.",
    );
    expect(toldBriefly("input.0 of Module.layers.2.mlp.fc2.Linear.forward.0 is off")).toBe("input.0 of layers.2.mlp.fc2 is off");
    expect(toldBriefly("Tensor.__mul__.70.forward, Tensor.__mul__.70.backward")).toBe("__mul__ #70, __mul__ #70 ↩");
  });
  it("are kept beside what is said, in their places", () => {
    expect(namedPieces("calls Tensor.add.0.forward where")).toEqual([
      { text: "calls ", name: null },
      { text: "add #0", name: "Tensor.add.0.forward" },
      { text: " where", name: null },
    ]);
  });
  it("are not arguments, values, numbers or lines of code", () => {
    for (const text of ["the argument input.1 is 0.5 here and 0.35 there", "model.py:44 x.forward(1.0)", "Tensor.add.0.forward.output.0"]) {
      expect(namedPieces(text)).toEqual([{ text, name: null }]);
    }
  });
});
