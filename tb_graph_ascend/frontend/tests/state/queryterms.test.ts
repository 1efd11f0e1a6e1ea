/* Queries as they are changed by buttons and while they are typed. */
import { describe, expect, it } from "vitest";

import { askable, toggleTerm } from "../../src/state/queryterms";

describe("a term of a button", () => {
  it("is added at the end and taken out again", () => {
    expect(toggleTerm("softmax", "unmatched")).toBe("softmax unmatched");
    expect(toggleTerm("softmax unmatched", "unmatched")).toBe("softmax");
  });
});

describe("a query while it is typed", () => {
  it.each(["softmax score>", "softmax score>=", "softmax -input<", "softmax introduced>-", "softmax side:", "softmax Score>."])(
    "asks %s without its unfinished term",
    (query) => expect(askable(query)).toBe("softmax"),
  );

  it.each(["softmax score>0.5", "softmax score>high", "side:left", "score", "a>", "/score>/", "score> softmax"])(
    "asks %s as it stands",
    (query) => expect(askable(query)).toBe(query),
  );

  it("asks for all nodes while its only term is begun", () => expect(askable("score>")).toBe(""));
});
