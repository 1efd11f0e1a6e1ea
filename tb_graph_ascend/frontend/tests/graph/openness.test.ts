import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { Openness } from "../../src/graph/openness";

const KEY = fc.integer({ min: 0, max: 20 });
const CHANGE = fc.tuple(fc.constantFrom("open", "close", "openAll", "unfold", "fold"), KEY);

/** What a text means for a key with the given keys above it, as the server reads it. */
function isOpen(text: string, key: number, above: readonly number[]): boolean {
  let open = false;
  for (const token of text === "" ? [] : text.split(".")) {
    if (token === `${key}` || (token.endsWith("a") && [key, ...above].includes(Number(token.slice(0, -1))))) open = true;
    if (token === `-${key}`) open = false;
  }
  return open;
}

function changed(changes: readonly [string, number][]): Openness {
  let openness = Openness.parse("");
  for (const [what, key] of changes) openness = openness[what as "open"](key);
  return openness;
}

describe("openness", () => {
  it("reads what it wrote, and leaves out what is no token", () => {
    fc.assert(
      fc.property(fc.array(CHANGE), (changes) => {
        const { text } = changed(changes);
        expect(Openness.parse(text).text).toBe(text);
      }),
    );
    expect(Openness.parse("1.x.-2.3a.f4.-.a.--1").text).toBe("1.-2.3a.f4");
  });

  it("has open what was opened last, and closed what was closed last", () => {
    fc.assert(
      fc.property(fc.array(CHANGE), KEY, fc.array(KEY), (changes, key, above) => {
        const before = changed(changes);
        expect(isOpen(before.open(key).text, key, above)).toBe(true);
        expect(isOpen(before.close(key).text, key, above)).toBe(false);
        expect(isOpen(before.openAll(key).text, key, above)).toBe(true);
        expect(before.unfold(key).text.split(".")).toContain(`f${key}`);
        expect(before.fold(key).text.split(".")).not.toContain(`f${key}`);
      }),
    );
  });

  it("moves to other ids, and drops what is not there", () => {
    expect(Openness.parse("1.-2.3a.f4").shifted((key) => (key === 2 ? null : key + 10)).text).toBe("11.13a.f14");
  });
});
