/* Octaves between two runs, as the server has them. */
import { expect, it } from "vitest";

import { isZeroBeside, mostApart, octavesApart } from "../../src/graph/octaves";
import { changeLanguage, createI18n } from "../../src/i18n/setup";
import { apartSentence, apartText } from "../../src/text/apart";
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
  expect(mostApart([1, 4, null, 9], [1, 1, 100])).toEqual([4, 1]);
  expect(mostApart([1], [])).toBeNull();
});

it("says of an exact 0 what stands on both sides, in both languages, and no octaves", async () => {
  const { t } = createI18n();
  expect([apartText(t, 0, 0.31), apartText(t, 8, 2), apartText(t, 0, 0), apartText(t, null, 0)]).toEqual(["0 here, 0.3100 there", "2.00", "0", "–"]);
  expect([apartSentence(t, 0.31, 0), apartSentence(t, 8, 2)]).toEqual(["0.3100 here, 0 there", "2.00 octaves apart"]);
  const chinese = createI18n();
  await changeLanguage(chinese, "zh");
  expect(apartSentence(chinese.t, 0, 0.31)).toBe("本次为 0，另一次为 0.3100");
  expect([isZeroBeside(0, 0), isZeroBeside(0, 1e-30), isZeroBeside(-0, 0), isZeroBeside(undefined, 0)]).toEqual([false, true, false, false]);
});
