/* Texts that are too long keep what tells them apart. */
import { expect, it } from "vitest";

import { letters, shorten } from "../../src/graph/textwidth";

/** Each letter is 6 pixels wide. */
const context = { measureText: (text: string) => ({ width: text.length * 6 }) } as unknown as CanvasRenderingContext2D;

it("keeps what fits, and the ends of paths that do not", () => {
  expect(shorten(context, "f", "layers.0", 48)).toBe("layers.0");
  const [one, other] = ["fc1", "fc2"].map((name) => shorten(context, "f", `transformer.layers.1.mlp.${name}`, 90));
  expect(one).toMatch(/^….*mlp\.fc1$/);
  expect(other).toMatch(/^….*mlp\.fc2$/);
  expect(one?.length).toBeLessThanOrEqual(15);
});

it("keeps both ends of a name without a path", () => {
  expect(letters("npu_fused_infer_attention_score", 12)).toBe("npu_fuse…core");
  expect(letters("abcdef", 1)).toBe("a…");
});
