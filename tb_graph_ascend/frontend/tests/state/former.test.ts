/* Causes found before pairs were made by hand: which stands, where it begins, and what each card says. */
import { describe, expect, it } from "vitest";

import type { Answer, Cause, Node, Since } from "../../src/api/types";
import { changeLanguage, createI18n } from "../../src/i18n/setup";
import { beginningOf, firstPlace, formerText, slideOf, standingCause } from "../../src/state/former";

const cause = (id: number, touched: boolean) =>
  ({ touched, finding: { step: 0, rank: 0, node: { id } }, nodes: [id, id + 10], places: [{ step: 0, rank: 0, node: id }, { step: 1, rank: 0, node: id + 10 }] }) as unknown as Cause;
const since = (id: number | null) => ({ step: 2, rank: 3, node: id === null ? null : ({ id } as Node) }) as Since;
const said = (now: Since | null, ...causes: Cause[]): Pick<Answer, "causes" | "since"> => ({ causes, since: now });

describe("causes that were found before pairs were made", () => {
  it("stand where it begins at one of their places and no pair touched them", () => {
    expect(standingCause(said(since(17), cause(5, false), cause(7, false)))?.finding.node.id).toBe(7);
    expect(standingCause(said(since(7), cause(7, true)))).toBeUndefined();
    expect(standingCause(said(since(8), cause(7, false)))).toBeUndefined();
    expect(standingCause(said(null, cause(7, false)))).toBeUndefined();
  });
  it("are not where it begins any more, which the pairs tell", () => {
    expect(beginningOf(said(null, cause(7, false)))).toEqual({ step: 0, rank: 0, node: 7 });
    expect(beginningOf(said(since(9), cause(7, true)))).toEqual({ step: 2, rank: 3, node: 9 });
    expect(beginningOf(said(since(null), cause(7, true)))).toBeUndefined();
    expect(firstPlace(said(since(9), cause(7, true)), { step: 1, rank: 0 })?.node).toBe(17);
  });
  it("are what a slide is of: the one that is read above it, else the first or that which stands", () => {
    const [first, second] = [cause(5, false), cause(7, false)];
    const of = (answer: ReturnType<typeof said>, read: Cause | null) => [slideOf(answer, read).cause?.finding.node.id, slideOf(answer, read).place?.node];
    expect(of(said(null, first, second), null)).toEqual([5, 5]);
    expect(of(said(null, first, second), second)).toEqual([7, 7]);
    expect(of(said(since(17), first, second), null)).toEqual([7, 17]);
    expect(of(said(since(17), first, second), first)).toEqual([5, 5]);
    expect(of(said(since(9), first), null)).toEqual([undefined, 9]);
    expect(of(said(null, first), second)).toEqual([5, 5]);
  });
  it("say of themselves what the pairs did to them, in both languages", async () => {
    const i18n = createI18n();
    const told = () => [formerText(i18n.t, { touched: true }, false), formerText(i18n.t, { touched: false }, false), formerText(i18n.t, { touched: false }, true)];
    expect(told()[0]).toBe("Found before your mapping; may not hold any more.");
    expect(new Set(told()).size).toBe(3);
    await changeLanguage(i18n, "zh");
    expect(told()[0]).toContain("可能已不成立");
  });
});
