/* The line of code a cause stands on, and numbers of the values table. */
import { describe, expect, it } from "vitest";

import type { Cause } from "../../src/api/types";
import { createI18n } from "../../src/i18n/setup";
import { relativeError } from "../../src/text/numbers";
import { callerFrame, causeText, followText, modelFrame } from "../../src/state/causes";

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

describe("followText", () => {
  const { t } = createI18n();
  const cause = { followed_by: 616, followed_later: 0, step_count: 1, first_step: 4 } as Cause;
  it("tells apart what follows in the cause's own steps and later", () => {
    expect(followText(t, cause)).toBe("616 nodes follow");
    expect(followText(t, { ...cause, followed_later: 352 })).toBe("616 nodes follow: 264 in step 4, 352 in later ones");
    expect(followText(t, { ...cause, followed_later: 16, step_count: 3 })).toBe(
      "616 nodes follow: 600 in its 3 steps, 16 in later ones",
    );
  });
});

describe("relativeError", () => {
  it("is a half for 0.09 against 0.18, and infinite only against nothing", () => {
    expect(relativeError(0.08838834764831845, 0.1767766952966369)).toBeCloseTo(0.5);
    expect(relativeError(1, 0)).toBe("inf");
    expect(relativeError(0, 0)).toBe(0);
    expect(relativeError(NaN, 1)).toBe("nan");
  });
});

describe("causeText", () => {
  const { t } = createI18n();
  it("names what stands in the place of calls without a partner", () => {
    const reasons = [{ code: "extra_replaced", names: "Torch.gelu.0.forward", instead: "Torch.silu.0.forward" }];
    expect(causeText(t, { finding: { reasons } } as unknown as Cause)).toBe(
      "the problem run calls Torch.gelu.0.forward where the benchmark run calls Torch.silu.0.forward",
    );
  });
});
