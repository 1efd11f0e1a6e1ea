/* What is looked at in the trends, as an address and back. */
import { describe, expect, it } from "vitest";

import { NOWHERE, type TrendPlace, belowName, drawnFirst, fromTrendQuery, kindChosen, ofOneModule, openTo, partsOf, rangeAround, rowPressed, seriesOf, toTrendQuery, toggled, zoomedSteps } from "../../src/state/trends";

const PLACE: TrendPlace = {
  run: "abc",
  other: "def",
  kind: "grad",
  statistic: "max",
  open: ["layers", "layers.0"],
  chosen: ["grad/layers.0.fc1.weight", "loss/loss"],
  step: 120,
  first: 70,
  last: 170,
  absolute: true,
  table: true,
  multiples: true,
};

describe("the address", () => {
  it("holds all of a place", () => {
    expect(fromTrendQuery(toTrendQuery(PLACE))).toEqual(PLACE);
  });

  it("leaves out what is as ever", () => {
    expect(toTrendQuery({ ...NOWHERE, run: "abc" })).toBe("trend=abc");
    expect(fromTrendQuery("trend=abc")).toEqual({ ...NOWHERE, run: "abc" });
  });

  it("is none of the trends without a run", () => {
    expect(fromTrendQuery("db=abc&step=1")).toBeNull();
  });

  it("passes over what is malformed", () => {
    const odd = fromTrendQuery("trend=a&step=x&from=-1&stat=median&line=nothing&open=");
    expect(odd).toEqual({ ...NOWHERE, run: "a", open: [] });
  });
});

describe("the chosen series", () => {
  it("come and go, the newest first, eight at most", () => {
    expect(toggled(["a"], "b")).toEqual(["b", "a"]);
    expect(toggled(["b", "a"], "a")).toEqual(["b"]);
    const eight = ["a", "b", "c", "d", "e", "f", "g", "h"];
    expect(toggled(eight, "x")).toEqual(["x", ...eight.slice(0, 7)]);
  });

  it("are drawn once, the one that was pointed at in front", () => {
    expect(drawnFirst(["a", "b"], "b")).toEqual(["b", "a"]);
    expect(drawnFirst(["a", "b", "c", "d", "e", "f", "g", "h"], "x")).toHaveLength(8);
  });

  it("come and go with their row; a module opens and closes", () => {
    const place = { kind: "grad", open: ["layers"], chosen: ["grad/a"] };
    expect(rowPressed({ name: "a", target: "a" }, place)).toEqual({ chosen: [] });
    expect(rowPressed({ name: "b", target: "b" }, place)).toEqual({ chosen: ["grad/b", "grad/a"] });
    expect(rowPressed({ name: "layers", target: null }, place)).toEqual({ open: [] });
    expect(rowPressed({ name: "layers.0", target: null }, place)).toEqual({ open: ["layers", "layers.0"] });
  });

  it("have a row of their own where the modules around them are open", () => {
    expect(openTo(["layers"], "layers.0.fc1.weight")).toEqual(["layers", "layers.0", "layers.0.fc1"]);
    expect(openTo([], "loss")).toEqual([]);
  });

  it("have a kind and a name, whatever is in the name", () => {
    expect(partsOf(seriesOf("grad", "a/b.weight"))).toEqual({ kind: "grad", name: "a/b.weight" });
  });
});

describe("another kind of series", () => {
  it("opens the module of what is chosen, where its parameters are rows", () => {
    const place = kindChosen("param", { open: ["layers"], chosen: ["actv/layers.0.down", "loss/loss"] });
    expect(place).toEqual({ kind: "param", open: ["layers", "layers.0", "layers.0.down"] });
    expect(kindChosen("param", { open: ["layers"], chosen: [] })).toEqual({ kind: "param" });
  });

  it("knows a module's own parameters from those of what is in it", () => {
    expect(ofOneModule("layers.0.down", "layers.0.down.weight")).toBe(true);
    expect(ofOneModule("layers.0.down.weight", "layers.0.down")).toBe(true);
    expect(ofOneModule("layers.0", "layers.0.down.weight")).toBe(false);
    expect(ofOneModule("layers.1", "layers.10")).toBe(false);
  });
});

describe("the name of a row", () => {
  it("tells rows below one module apart", () => {
    const names = ["embed.weight", "layers.0.attn.q.weight", "layers.0.norm.weight"];
    const depths = [0, 3, 2];
    expect(names.map((name, index) => belowName({ name, depth: depths[index] ?? 0 }))).toEqual(["embed.weight", "q.weight", "norm.weight"]);
  });
});

describe("a closer look", () => {
  it("holds fewer steps than there are, or is none", () => {
    expect(zoomedSteps(0, 2999)).toBe(100);
    expect(zoomedSteps(0, 59)).toBe(20);
    expect(zoomedSteps(20, 39)).toBe(5);
    expect(zoomedSteps(0, 4)).toBeNull();
  });

  it("holds so many of the steps that there are, at the ends too", () => {
    const bounds = { first: 0, last: 59 };
    for (const step of [0, 3, 24, 55, 59]) {
      const { first, last } = rangeAround(step, 20, bounds);
      expect(last - first + 1).toBe(20);
      expect([first >= 0, last <= 59, first <= step && step <= last]).toEqual([true, true, true]);
    }
  });
});
