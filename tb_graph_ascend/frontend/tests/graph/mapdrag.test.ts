/* What can be dragged, and what a row says to what is dragged on it. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";

import type { DiffRow } from "../../src/api/types";
import { dropOn, heldOf, otherSide } from "../../src/graph/mapdrag";
import { row } from "../rows";

const ours = (change: Partial<DiffRow> = {}) => row({ key: 1, benchmark: null, word: "only_problem", ...change });
const theirs = (change: Partial<DiffRow> = {}) => row({ key: 2, problem: null, word: "only_benchmark", ...change });

describe("a held row", () => {
  it("is one of one side, a module or call, and stands for itself", () => {
    expect(heldOf(ours())).toMatchObject({ id: 1, side: "problem", label: "op #1" });
    expect(heldOf(theirs())).toMatchObject({ id: 1002, side: "benchmark", label: "op #2" });
    expect(heldOf(row())).toBeNull();
    expect(heldOf(ours({ fold: -3 }))).toBeNull();
    expect(heldOf(ours({ kind: "collection" }))).toBeNull();
  });

  it("is a fold as a whole, which goes on a fold alone", () => {
    const fold = { kind: "module", fold: 3 } as const;
    const held = heldOf(ours({ ...fold, problem: { id: 1, name: "", title: "h.0", detail: "", call: null, overflow: null, overflow_below: null, until: "h.2", output: null, calls: 0 } }));
    expect(held).toMatchObject({ fold: 3, label: "h.0–2 × 3" });
    if (!held) throw new Error("nothing is held");
    expect(dropOn(held, theirs({ kind: "module", fold: 2 }))).toMatchObject({ fits: true });
    expect(dropOn(held, theirs({ kind: "module" }))).toMatchObject({ why: { code: "folded" } });
  });

  it("is called without a number where its call has none", () => {
    const side = { id: 7, name: "Module.a.ffn.MLP.forward.0", title: "ffn", detail: "MLP", call: null, overflow: null, overflow_below: null, until: "", output: null, calls: 0 };
    expect(heldOf(ours({ problem: side }))?.label).toBe("ffn");
  });
});

describe("a drop", () => {
  const why = (held: DiffRow, on: DiffRow | undefined) => {
    const source = heldOf(held);
    if (!source) throw new Error("nothing is held");
    const drop = dropOn(source, on);
    return drop.fits ? drop.label : drop.why.code;
  };

  it("fits an unmatched row of the other side that is of its kind", () => {
    expect(why(ours(), theirs())).toBe("op #2");
    expect(why(theirs(), ours())).toBe("op #1");
  });

  it("says why it does not fit", () => {
    expect(why(ours(), row({ key: 3 }))).toBe("already_matched");
    expect(why(ours(), ours({ key: 4 }))).toBe("gap");
    expect(why(ours(), theirs({ fold: 5 }))).toBe("folded");
    expect(why(ours(), theirs({ kind: "module" }))).toBe("kind_differs");
    expect(why(ours(), theirs({ direction: "backward" }))).toBe("direction_differs");
    expect(why(ours(), theirs({ kind: "collection" }))).toBe("not_mappable");
    expect(why(ours(), undefined)).toBe("nowhere");
  });

  it("names both kinds by their sides, whichever was dragged", () => {
    const held = heldOf(theirs({ kind: "module" }));
    if (!held) throw new Error("nothing is held");
    const drop = dropOn(held, ours());
    expect(drop).toEqual({ fits: false, why: { code: "kind_differs", problem: "api", benchmark: "module" } });
  });

  it("fits one way exactly when it fits the other way", () => {
    const kinds = fc.constantFrom<DiffRow["kind"]>("api", "module", "collection");
    const directions = fc.constantFrom<DiffRow["direction"]>("forward", "backward", null);
    const side = fc.record({ kind: kinds, direction: directions, fold: fc.constantFrom(0, 2, -2) });
    fc.assert(
      fc.property(side, side, (one, other) => {
        const [a, b] = [ours(one), theirs(other)];
        const fits = (from: DiffRow, to: DiffRow) => {
          const held = heldOf(from);
          return held !== null && dropOn(held, to).fits;
        };
        expect(fits(a, b)).toBe(fits(b, a));
      }),
    );
  });

  it("goes to the other side", () => {
    expect([otherSide("problem"), otherSide("benchmark")]).toEqual(["benchmark", "problem"]);
  });
});
