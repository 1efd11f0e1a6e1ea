/* Back and Forward: every place once, however often its state is renamed. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { type Visit, entryFor, placeOfVisit } from "../../src/state/history";

const visits = fc.array(fc.record({ place: fc.constantFrom("a", "b", "c"), query: fc.constantFrom("1", "2", "3") }), {
  maxLength: 30,
});

/** The history that a browser would have after these states. */
function walked(states: Visit[]): Visit[] {
  const entries: Visit[] = [];
  let last: Visit | null = null;
  for (const now of states) {
    const entry = entryFor(last, now);
    if (entry === "push") entries.push(now);
    else if (entry === "replace") entries.splice(Math.max(0, entries.length - 1), 1, now);
    if (entry) last = now;
  }
  return entries;
}

describe("entryFor", () => {
  it("makes an entry for each change of place and none for a renamed one", () => {
    fc.assert(
      fc.property(visits, (states) => {
        // One query is one state, so it is of one place.
        const named = states.map(({ place, query }) => ({ place, query: place + query }));
        const changes = named.filter(({ place }, at) => at === 0 || named[at - 1]?.place !== place);
        expect(walked(named).map(({ place }) => place)).toEqual(changes.map(({ place }) => place));
        expect(walked(named).at(-1)).toEqual(named.at(-1));
      }),
    );
  });
});

describe("placeOfVisit", () => {
  it("tells apart what Back goes through, and nothing else", () => {
    const here = { db: "x", step: 1, rank: 2, selected: 3 };
    expect(placeOfVisit(here)).toBe(placeOfVisit({ ...here }));
    for (const other of [{ db: "y" }, { step: 2 }, { rank: 1 }, { selected: null }]) {
      expect(placeOfVisit({ ...here, ...other })).not.toBe(placeOfVisit(here));
    }
  });
});
