import { describe, expect, it } from "vitest";

import { callerFrame, modelFrame, otherLine, saidOfSame, tellingFrame } from "../../src/state/sourcelines";

describe("modelFrame", () => {
  const torch = "File /env/site-packages/torch/nn/modules/module.py, line 1, in inner, result = f()";
  const model = "File /env/site-packages/transformers/models/qwen2/modeling_qwen2.py, line 155, in forward, a = b * c";
  const own = "File /job/train.py, line 9, in <module>, loss = model(x)";
  it("is the innermost outside the framework; a model's own package counts as the model", () => {
    expect(modelFrame([torch, model, torch, own])).toMatchObject({ number: "155", code: "a = b * c" });
    expect(modelFrame([torch, own])).toMatchObject({ file: "/job/train.py" });
    expect(modelFrame([torch])).toMatchObject({ number: "1" });
    expect(modelFrame(["something else"])).toBeNull();
  });
  it("has the person's own line beside it where a library's frame is shown", () => {
    expect(callerFrame([torch, model, torch, own])).toMatchObject({ file: "/job/train.py", number: "9" });
    expect(callerFrame([torch, own, model])).toBeNull();
    expect(callerFrame([torch, model])).toBeNull();
  });
});

describe("the benchmark's line", () => {
  const at = (code: string) => [`File /job/model.py, line 60, in backward, ${code}`];
  it("is told where it reads otherwise", () => {
    expect(otherLine(at("return g * (1 - g)"), at("return x * g * (1 - g)"))).toMatchObject({ mine: { code: "return g * (1 - g)" }, other: { code: "return x * g * (1 - g)" } });
    expect(otherLine(at("return  g"), at("return g"))).toBeNull();
    expect(otherLine(at("return g"), null)).toBeNull();
  });
  it("is told of a call with other arguments even so, and the person's own where that reads otherwise", () => {
    expect(otherLine(at("return g"), at("return g"), true)).toMatchObject({ other: { code: "return g" } });
    expect(otherLine(at("return g"), null, true)).toBeNull();
    const library = "File /venv/lib/python3.11/site-packages/models/llama.py, line 3, in forward, return sdpa(q, k, v)";
    const called = (code: string) => [library, `File /job/train.py, line 9, in <module>, ${code}`];
    expect(otherLine(called("net(x, 0.5)"), called("net(x, 1.0)"), true)).toMatchObject({ mine: { code: "net(x, 0.5)" }, other: { code: "net(x, 1.0)" } });
    expect(otherLine(called("net(x, 0.5)"), called("net(x, 1.0)"))).toBeNull();
  });
});

describe("two lines that read the same", () => {
  it("are one, whose argument comes from elsewhere, or stand at two places", () => {
    const frame = (number: string) => ({ file: "/job/model.py", number, scope: "scan", code: "y = f(x)", library: false });
    expect(saidOfSame({ mine: frame("20"), other: frame("20") })).toBe("argumentElsewhere");
    expect(saidOfSame({ mine: frame("19"), other: frame("20") })).toBe("lineElsewhere");
  });
});

describe("a helper's line", () => {
  const main = "File /job/run.py, line 80, in <module>, main()";
  const stack = (code: string, line: number, caller: string, scope = "main") => [
    `File /job/run.py, line 49, in <lambda>, ${code}`,
    `File /job/run.py, line ${String(line)}, in ${scope}, ${caller}`,
    main,
  ];
  const twice = stack("x * scale", 50, "y = double(double(x))");
  const once = stack("x * scale", 51, "y = double(x)");
  it("is told with the line that calls it, where one run alone does or the lines read otherwise", () => {
    expect(callerFrame(twice)).toMatchObject({ number: "50" });
    expect(callerFrame(twice, once)).toMatchObject({ number: "50" });
    expect(callerFrame(twice, twice)).toBeNull();
    expect(otherLine(twice, once)).toMatchObject({ mine: { code: "y = double(double(x))" }, other: { code: "y = double(x)" } });
    expect(tellingFrame(twice, once, false)).toMatchObject({ number: "50", scope: "main" });
  });
  it("is named itself where one run alone has it, and else the line that calls it", () => {
    expect(tellingFrame(twice, null, false)).toMatchObject({ number: "50", scope: "main" });
    expect(tellingFrame(twice, null, true)).toMatchObject({ number: "49", code: "x * scale" });
  });
  it("is enough where it reads otherwise itself, and where other functions stand around it", () => {
    expect(callerFrame(twice, stack("x * 2", 51, "y = double(x)"))).toBeNull();
    expect(callerFrame(twice, stack("x * scale", 9, "y = double(x)", "warm"))).toBeNull();
    expect(callerFrame(["File /job/run.py, line 3, in main, y = net(x)", main])).toBeNull();
    expect(callerFrame([main])).toBeNull();
  });
});
