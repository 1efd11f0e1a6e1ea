/* What an all-clear rests on, in the words of the builder. */
import { describe, expect, it } from "vitest";

import type { Claim } from "../../src/api/types";
import { claimEvidence, claimHeadline } from "../../src/i18n/claim";
import { createI18n } from "../../src/i18n/setup";

const LARGEST = { error: 6.4e-7, value: "output.0", name: "Module.norm.LayerNorm.forward.0", step: 0, rank: 0 };
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
      "8 values exceed their tolerance",
      "the largest relative error is 6.4e-5 %, in output.0 of Module.norm.LayerNorm.forward.0 (step 0, rank 0)",
      "3 values exceed their tolerance because of rounding or of their inputs",
    ]);
  });

  it("leaves the largest error out where it has a line of its own", () => {
    expect(claimEvidence(t, CLOSE, false)).toEqual([
      "8 values exceed their tolerance",
      "3 values exceed their tolerance because of rounding or of their inputs",
    ]);
  });
});
