/* Keys and menus go on from what was asked for, and from what is shown where nothing was. */
import { beforeEach, expect, it } from "vitest";

import { arrived, destination, fileAhead, isArriving, nextTicket, nodeAhead, switched, useAhead } from "../../src/state/ahead";
import { useApp } from "../../src/state/store";

beforeEach(() => {
  useAhead.setState(useAhead.getInitialState(), true);
  useApp.setState({ db: "shown", step: 1, rank: 2, selected: 3 });
});

it("is what is shown while nothing is under way", () => {
  expect([fileAhead(), nodeAhead(), destination(), isArriving()]).toEqual(["shown", 3, { step: 1, rank: 2 }, false]);
});

it("is what was asked for, before it is shown", async () => {
  let come = (): void => undefined;
  const done = new Promise<void>((there) => (come = there));
  useAhead.setState({ arriving: { db: "asked", done }, heading: { node: 7 }, coming: { step: 5, rank: 0 }, settled: done });
  expect([fileAhead(), nodeAhead(), destination(), isArriving()]).toEqual(["asked", 7, { step: 5, rank: 0 }, true]);
  const seen: string[] = [];
  const waits = [arrived().then(() => seen.push("file")), switched().then(() => seen.push("pair"))];
  await Promise.resolve();
  expect(seen).toEqual([]);
  come();
  await Promise.all(waits);
  expect(seen).toHaveLength(2);
});

it("counts each kind of request by itself", () => {
  expect([nextTicket("opening"), nextTicket("opening"), nextTicket("selecting")]).toEqual([1, 2, 1]);
  expect(useAhead.getState().switches).toBe(0);
});
