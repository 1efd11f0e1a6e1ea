import { describe, expect, it } from "vitest";

import type { Cause, Node } from "../../src/api/types";
import { createI18n } from "../../src/i18n/setup";
import { isSameCause, sameCauseKey } from "../../src/state/samecause";

const place = (node: number, name: string) => ({ step: 0, rank: 0, node, name, module: null });
const cause = {
  nodes: [203, 222],
  finding: { node: { id: 203, side: "problem" } },
  places: [place(203, "Module.head.parameters_grad.0"), place(222, "Module.embed.parameters_grad.0")],
} as unknown as Cause;

describe("a cause of an earlier step that shows again", () => {
  const again = { node: 55, first: 203 };
  const node = (id: number, name: string, side = "problem") => ({ id, name, side }) as Node;

  it("is found where it is named, and at its other places by their names", () => {
    expect(isSameCause([cause], again, node(55, "Module.head.parameters_grad.0"))).toBe(true);
    expect(isSameCause([cause], again, node(60, "Module.embed.parameters_grad.0"))).toBe(true);
    expect(isSameCause([cause], again, node(60, "Module.embed.parameters_grad.0", "benchmark"))).toBe(false);
    expect(isSameCause([cause], again, node(61, "Module.block.parameters_grad.0"))).toBe(false);
    expect(isSameCause([], again, node(60, "Module.embed.parameters_grad.0"))).toBe(false);
  });

  it("says that what comes in differs only where it does", () => {
    const { t } = createI18n();
    const told = (comes_in: boolean) => t(sameCauseKey({ comes_in }), { call: "head", step: 0 });
    expect(told(true)).toMatch(/^What comes in differs since the step before, and head adds /);
    expect(told(false)).toBe("Nothing before head differs here, which adds a difference of its own again: the same cause as in step 0.");
  });
});
