/* Steps along the axis of a heat map: round ones, few enough, where their columns begin. */
import { describe, expect, it } from "vitest";

import { placeOf, stepTicks } from "../../src/graph/stepticks";

const upTo = (count: number, width = 1): number[] => Array.from({ length: count }, (_, i) => i * width);

describe("stepTicks", () => {
  it.each([
    [upTo(220), 8, [0, 50, 100, 150, 200]],
    [upTo(1500, 8), 4, [0, 5000, 10000]],
    [[7, 8, 9], 8, [7, 8, 9]],
    [[13], 8, [13]],
    [[103, 104, 106, 107], 1, [105]],
    [[101, 102], 0, []],
    [[], 8, []],
  ])("of %j, at most %i", (steps, most, wanted) => {
    expect(stepTicks(steps, most).map(({ step }) => step)).toEqual(wanted);
  });

  it("names the first step where no round one lies between", () => {
    expect(stepTicks([101, 102, 103, 104], 1)).toEqual([{ step: 101, at: 0 }]);
  });

  it("stands where the column begins that holds the step", () => {
    expect(stepTicks(upTo(4, 5), 2)).toEqual([
      { step: 0, at: 0 },
      { step: 10, at: 0.5 },
    ]);
  });
});

describe("placeOf", () => {
  it("is that of the column of a step, of the last one too", () => {
    expect([placeOf(upTo(4, 8), 17), placeOf(upTo(4, 8), 31)]).toEqual([0.5, 0.75]);
  });

  it("is nowhere before the first step and behind the last", () => {
    expect([placeOf([8, 16], 7), placeOf([8, 16], 24), placeOf([], 1)]).toEqual([null, null, null]);
  });
});
