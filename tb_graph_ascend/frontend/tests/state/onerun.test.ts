/* What is left out where one run was looked at alone. */
import { describe, expect, it } from "vitest";

import { bottomTabs, isTermOf, leftTabs } from "../../src/state/onerun";
import { BOTTOM_TABS, LEFT_TABS } from "../../src/state/store";

const compared = { comparison: true, pairs: [{}] };
const alone = { comparison: false, pairs: [{}] };

describe("a single graph", () => {
  it("has no causes and no mapping, no way to a cause, and steps and ranks only where there are several", () => {
    expect(leftTabs(alone)).toEqual(["outline", "nodes", "overflow"]);
    expect(bottomTabs(alone)).toEqual(["values", "stack", "pictures", "communication"]);
    expect(bottomTabs({ comparison: false, pairs: [{}, {}] })).toEqual(["values", "stack", "pictures", "across", "communication"]);
  });
  it("is asked for no partner, score or verdict", () => {
    const terms = ["unmatched", "divergent", "backward", "kind:api", "verdict:error", "overflow"];
    expect(terms.filter((term) => isTermOf(alone, term))).toEqual(["backward", "kind:api", "overflow"]);
    expect(terms.filter((term) => isTermOf(compared, term))).toEqual(terms);
  });
});

describe("a comparison, and a file that is still being opened", () => {
  it.each([compared, undefined])("have all", (looked) => {
    expect(leftTabs(looked)).toEqual(LEFT_TABS);
    expect(bottomTabs(looked)).toEqual(BOTTOM_TABS);
  });
});
