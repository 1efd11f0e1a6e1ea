/* What a mapping left out is told once. */
import { expect, it } from "vitest";

import { refusedOnce } from "../../src/state/refusals";

it("tells a node once for all its places, and two reasons apart", () => {
  const alone = { problem: "Tensor.__mul__.0.forward", benchmark: null, reason: { code: "absent" } };
  const taken = { ...alone, benchmark: "x", reason: { code: "already_matched", side: "problem", partner: "y" } };
  expect(refusedOnce([alone, taken, { ...alone, reason: { code: "absent" } }])).toEqual([
    { ...alone, places: 2 },
    { ...taken, places: 1 },
  ]);
});

it("tells the calls of a kind once for all layers, and pairs that were asked for one by one", () => {
  const alone = (n: number) => ({ problem: `Torch.cat.${n}.forward`, benchmark: null, reason: { code: "absent" } });
  const asked = (n: number) => ({ ...alone(n), benchmark: `Torch.cat.${n}.forward` });
  expect(refusedOnce([alone(1), asked(1), alone(22), asked(22), alone(3)])).toEqual([
    { ...alone(1), problem: "Torch.cat.N.forward", places: 3 },
    { ...asked(1), places: 1 },
    { ...asked(22), places: 1 },
  ]);
});
