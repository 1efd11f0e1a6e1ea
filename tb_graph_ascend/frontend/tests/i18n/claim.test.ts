/* What an all-clear rests on, in the words of the builder. */
import { describe, expect, it } from "vitest";

import type { Claim } from "../../src/api/types";
import { claimEvidence, claimHeadline } from "../../src/i18n/claim";
import { createI18n } from "../../src/i18n/setup";

const LARGEST = { error: 6.4e-7, value: "output.0", name: "Module.norm.LayerNorm.forward.0", step: 0, rank: 0, times: "11", format: "float32" };
const CLOSE: Claim = {
  code: "close",
  whole: true,
  incomplete: false,
  evidence: { compared: [], gaps: [], differences: [], beyond: 8, explained: 3, largest: LARGEST },
};

describe("what an all-clear rests on", () => {
  const { t } = createI18n();

  it("never says of one value that it is and is not rounding", () => {
    expect(claimHeadline(t, CLOSE)).toBe("The runs differ slightly, and no node is above the threshold");
    expect(claimEvidence(t, CLOSE)).toEqual([
      "11 values exceed their tolerance, of which rounding or their inputs explain 3 and leave 8 unexplained",
      "the largest relative error is 6.4e-5 % (11 times one rounding of float32), in output.0 of Module.norm.LayerNorm.forward.0 (step 0, rank 0)",
    ]);
  });

  it("leaves the largest error out where it has a line of its own", () => {
    expect(claimEvidence(t, CLOSE, false)).toEqual([
      "11 values exceed their tolerance, of which rounding or their inputs explain 3 and leave 8 unexplained",
    ]);
  });

  it("counts only what there is", () => {
    const told = (beyond: number, explained: number, code: Claim["code"]) => claimEvidence(t, { ...CLOSE, code, evidence: { ...CLOSE.evidence, beyond, explained } }, false);
    expect(told(8, 0, "close")).toEqual(["8 values exceed their tolerance"]);
    expect(told(0, 3, "rounding")).toEqual(["3 values exceed their tolerance because of rounding or of their inputs"]);
    expect(told(0, 0, "close")).toEqual([]);
  });
});
