/* Names as boxes show them. */
import { describe, expect, it } from "vitest";

import { parseFrame } from "../../src/text/frames";
import { labelOf, shortName } from "../../src/graph/labels";
import { difference, fullNumber, scoreText, shortNumber } from "../../src/text/numbers";
import { node } from "../sample";

describe("labelOf", () => {
  const block = node({ id: 1, name: "Module.layers.2.Block.forward.0" });
  it("drops the parent's path", () => {
    const mlp = node({ id: 2, name: "Module.layers.2.mlp.MLP.forward.0" });
    expect(labelOf(mlp, block)).toEqual({ text: "mlp", detail: "MLP", backward: false });
  });
  it("keeps the whole path where the parent is no module", () => {
    expect(labelOf(block, node({ id: 3, kind: "root", name: "DefaultModel" })).text).toBe("layers.2");
  });
  it("does not mistake layers.20 for a child of layers.2", () => {
    const other = node({ id: 4, name: "Module.layers.20.mlp.MLP.forward.0" });
    expect(labelOf(other, block).text).toBe("layers.20.mlp");
  });
  it("shows calls by their name and family, and the direction", () => {
    const call = node({
      id: 5,
      kind: "api",
      name: "Tensor.__mul__.0.backward",
      label: "__mul__",
      direction: "backward",
    });
    expect(labelOf(call, block)).toEqual({ text: "__mul__", detail: "Tensor", backward: true });
  });
  it("survives a module called output", () => {
    const name = "Module.layer.output.BertOutput.forward.0";
    expect(labelOf(node({ id: 6, name }), undefined).text).toBe("layer.output");
  });
});

describe("shortName", () => {
  it("leaves the path of a module and the call of an API", () => {
    expect(shortName("Module.layers.1.mlp.MLP.forward.0")).toBe("layers.1.mlp");
    expect(shortName("Module.head.Linear.parameters_grad.0")).toBe("head.parameters_grad");
    expect(shortName("Torch.log.0.forward")).toBe("Torch.log");
  });
});

describe("numbers", () => {
  it.each([
    [0, "0"],
    [31.98765, "31.99"],
    [4096, "4096"],
    [123456.789, "1.235e5"],
    [0.000012345, "1.234e-5"],
    [-0.5, "-0.5000"],
    ["nan", "NaN"],
    ["-inf", "−Inf"],
    [null, "–"],
  ] as const)("%s reads %s", (value, text) => {
    expect(shortNumber(value)).toBe(text);
  });
  it("keeps every digit in full", () => {
    expect(fullNumber(0.1 + 0.2)).toBe("0.30000000000000004");
  });
  it("subtracts as arithmetic does", () => {
    expect(difference(3, 1)).toBe(2);
    expect(difference("nan", 1)).toBe("nan");
    expect(difference("inf", 1)).toBe("inf");
    expect(difference(1, null)).toBeNull();
  });
  it("prints scores with two digits", () => {
    expect(scoreText(0.8349)).toBe("0.83");
    expect(scoreText(null)).toBe("–");
  });
});

describe("parseFrame", () => {
  it("takes a recorded frame apart", () => {
    const line = "File /job/model.py, line 41, in forward, \n x = self.mlp(x)";
    expect(parseFrame(line)).toEqual({
      file: "/job/model.py",
      number: "41",
      scope: "forward",
      code: "x = self.mlp(x)",
      library: false,
    });
  });
  it("has the code in one line, with one space for several, as the command quotes it", () => {
    const line = "File /job/model.py, line 41, in forward, \n x = f(x,\n      y)  # noqa";
    expect(parseFrame(line).code).toBe("x = f(x, y) # noqa");
  });
  it("shows an unknown form whole", () => {
    expect(parseFrame("somewhere").file).toBe("somewhere");
  });
});
