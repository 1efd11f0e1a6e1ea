/* A line over tokens, laid out: the cells of each request together, each with its score and whether it begins there. */

import type { NodeTokens, TokenCell, TokenLine } from "../api/types";

export interface LineCell {
  cell: TokenCell;
  score: number | null;
  /** The first token that is apart is one of its. */
  first: boolean;
}

/** The cells of a line by the request that their first token is of, in their order. */
export function byRequest(cells: readonly TokenCell[], line: TokenLine): LineCell[][] {
  const groups: LineCell[][] = [];
  cells.forEach((cell, place) => {
    const one = { cell, score: line.scores[place] ?? null, first: holds(cell, line.first) };
    const last = groups.at(-1);
    if (last && last[0]?.cell.first.request === cell.first.request) last.push(one);
    else groups.push([one]);
  });
  return groups;
}

/** Of the lines of a node the one that a finding is shown with: of an output that is apart, the worst first. */
export function findingLine({ lines }: NodeTokens): TokenLine | null {
  const apart = lines.filter(({ apart: count }) => count > 0);
  const worst = (line: TokenLine): number => Math.max(...line.scores.map((score) => score ?? 0));
  const rank = (line: TokenLine): number => (line.role === "output" ? 1 : 0);
  return [...apart].sort((one, other) => rank(other) - rank(one) || worst(other) - worst(one))[0] ?? null;
}

function holds({ first, last }: TokenCell, token: TokenLine["first"]): boolean {
  if (token === null) return false;
  const order = (one: { request: number; position: number }, other: { request: number; position: number }): number =>
    one.request - other.request || one.position - other.position;
  return order(first, token) <= 0 && order(token, last) <= 0;
}
