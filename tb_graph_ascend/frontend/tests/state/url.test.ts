/* The state in the address: there and back, and nothing that a broken link could break. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { BOTTOM_TABS, LEFT_TABS } from "../../src/state/store";
import { type Linked, fromQuery, toQuery } from "../../src/state/url";

const integers = fc.option(fc.integer({ min: 0, max: 1_000_000 }));
const linked: fc.Arbitrary<Linked> = fc.record({
  db: fc.option(fc.string({ minLength: 1 })),
  built: fc.option(fc.string({ minLength: 1 })),
  step: integers,
  rank: integers,
  microStep: integers,
  selected: integers,
  recolour: fc.constantFrom("score", "overflow"),
  leftTab: fc.constantFrom(...LEFT_TABS),
  bottomTab: fc.constantFrom(...BOTTOM_TABS),
  query: fc.string(),
  table: fc.record({
    scope: fc.constantFrom("pair", "rank", "all"),
    sort: fc.constantFrom("order", "score", "introduced", "name"),
    descending: fc.boolean(),
  }),
  open: fc.constantFrom("", "12.-13.f20.7a"),
  graph: integers,
  boxes: fc.array(fc.integer({ min: 0, max: 99_999 })),
  across: fc.boolean(),
  view: fc.option(fc.constantFrom({ scale: 0.5, x: -12.5, y: 300 })),
});

describe("address", () => {
  it("carries the whole state there and back", () => {
    fc.assert(
      fc.property(linked, (state) => {
        expect(fromQuery(toQuery(state))).toEqual(state);
      }),
    );
  });

  it("reads any text without failing", () => {
    fc.assert(fc.property(fc.string(), (text) => LEFT_TABS.includes(fromQuery(text).leftTab)));
    expect(fromQuery("view=0,1,2&step=x&list=evil").view).toBeNull();
    expect(fromQuery("view=0,1,2&step=x&list=evil").leftTab).toBe("causes");
  });

  it("stays empty for the default view", () => {
    expect(toQuery(fromQuery(""))).toBe("");
  });
});
