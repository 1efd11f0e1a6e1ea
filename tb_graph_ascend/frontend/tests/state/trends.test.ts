/* What is looked at in the trends, as an address and back. */
import { describe, expect, it } from "vitest";

import { NOWHERE, type TrendPlace, drawnFirst, fromTrendQuery, openTo, partsOf, rowPressed, seriesOf, toTrendQuery, toggled } from "../../src/state/trends";

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
