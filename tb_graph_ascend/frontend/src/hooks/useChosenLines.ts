/* The chosen series of the run on screen and, where one is chosen beside it, of the other run. */

import { useQueries } from "@tanstack/react-query";

import { type TrendLine, trendLineQuery } from "../api/trends";
import { partsOf, useTrends } from "../state/trends";

export interface ChosenLines {
  own: TrendLine[];
  /** Those of the other run; a series that it lacks is left out. */
  theirs: TrendLine[];
  /** Whether an answer of the run on screen is awaited. */
  pending: boolean;
}

export function useChosenLines(run: string): ChosenLines {
  const { other, chosen, statistic, first, last } = useTrends();
  const asked = chosen.map(partsOf);
  const queries = (of: string) => asked.map(({ kind, name }) => trendLineQuery(of, kind, name, statistic, { first, last }));
  const own = useQueries({ queries: queries(run), combine: known });
  const theirs = useQueries({ queries: other === null ? [] : queries(other), combine: known });
  return { own: own.lines, theirs: theirs.lines, pending: own.pending };
}

function known(answers: readonly { data?: TrendLine | undefined; isPending: boolean }[]) {
  const lines = answers.flatMap(({ data }) => data ?? []);
  return { lines, pending: answers.some(({ isPending }) => isPending) };
}
