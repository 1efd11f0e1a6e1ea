/* Octaves between two runs, as the server has them. */
import { expect, it } from "vitest";

import { mostApart, octavesApart } from "../../src/graph/octaves";
import { octavesText } from "../../src/text/numbers";

it("tells a factor of two as one octave, whatever the signs", () => {
  expect([octavesApart(8, 2), octavesApart(2, 8), octavesApart(-4, 4), octavesApart(3, 3)]).toEqual([2, 2, 0, 0]);
  expect(octavesText(octavesApart(716.8, 17.92))).toBe("5.32");
});

it("has a number for a value that falls to 0, none for one that is missing", () => {
  expect([octavesApart(0, 5), octavesApart(0, 0), octavesApart(null, 5), octavesApart(1, undefined)]).toEqual([64, 0, null, null]);
  expect(octavesText(null)).toBe("–");
});

it("finds the most over the columns that both have", () => {
  expect(mostApart([1, 4, null, 9], [1, 1, 100])).toBe(2);
  expect(mostApart([1], [])).toBeNull();
});
