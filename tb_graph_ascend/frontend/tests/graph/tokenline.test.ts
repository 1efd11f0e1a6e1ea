/* A line over tokens: requests together, the first token marked, a finding shown with its worst output. */
import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { I18nextProvider } from "react-i18next";
import { describe, expect, it } from "vitest";

import type { NodeTokens, TokenCell, TokenLine as Line } from "../../src/api/types";
import { TokenLine } from "../../src/components/parts/TokenLine";
import { rampFill } from "../../src/graph/ramp";
import { byRequest, findingLine } from "../../src/graph/tokenline";
import { changeLanguage, createI18n } from "../../src/i18n/setup";

const cell = (request: number, position: number, last = position): TokenCell => ({
  first: { request, position },
  last: { request, position: last },
  tokens: last - position + 1,
});
const CELLS = [cell(0, 0), cell(0, 1), cell(1, 0, 3), cell(1, 4)];
const line = (changes: Partial<Line>): Line => ({
  value: 1,
  role: "output",
  path: "0",
  scores: [0, 0.5, 1, null],
  first: { request: 1, position: 2 },
  apart: 2,
  tokens: 6,
  ...changes,
});

const i18n = createI18n();
const painted = (changes: Partial<Line>): string => {
  const element = createElement(TokenLine, { cells: CELLS, line: line(changes) });
  return renderToStaticMarkup(createElement(I18nextProvider, { i18n }, element));
};

describe("a line over tokens", () => {
  it("keeps the cells of a request together, and marks that with the first token", () => {
    const groups = byRequest(CELLS, line({}));
    expect(groups.map((group) => group.map(({ score }) => score))).toEqual([[0, 0.5], [1, null]]);
    expect(groups.flat().map(({ first }) => first)).toEqual([false, false, true, false]);
    expect(byRequest(CELLS, line({ first: null })).flat().some(({ first }) => first)).toBe(false);
  });

  it("of a finding is that of the worst output that is apart", () => {
    const input = line({ value: 2, role: "input", scores: [1, 1, 1, 1] });
    const worse = line({ value: 3, scores: [0, 0, 0, 0.9] });
    const little = line({ value: 4, scores: [0, 0, 0, 0.1] });
    const agreeing = line({ value: 5, scores: [0, 0, 0, 0], first: null, apart: 0 });
    const told = (lines: Line[]): NodeTokens => ({ cells: CELLS, lines });
    expect(findingLine(told([input, little, worse, agreeing]))?.value).toBe(3);
    expect(findingLine(told([input, agreeing]))?.value).toBe(2);
    expect(findingLine(told([agreeing]))).toBeNull();
  });

  it("is painted in the colours of scores, with words for those who do not see them", async () => {
    const shown = painted({});
    expect(shown.match(/token-request/g)).toHaveLength(2);
    expect(shown.match(/"token-cell first"/g)).toHaveLength(1);
    expect(shown.match(/hatched/g)).toHaveLength(1);
    expect(shown).toContain(rampFill(0.5));
    expect(shown).toContain('role="img"');
    expect(shown).toContain("output.0: first apart at request 1, position 2 (outlined); 2 of 6 tokens");
    expect(shown).toContain("4 tokens, from request/position 1/0 to 1/3: score 1.00");
    expect(shown).toContain("request 1, position 4: no numbers");
    expect(painted({ first: null, apart: 0 })).toContain("output.0: all 6 tokens agree");
    await changeLanguage(i18n, "zh");
    expect(painted({})).toContain("最先在请求 1 的位置 2 不同");
  });
});
