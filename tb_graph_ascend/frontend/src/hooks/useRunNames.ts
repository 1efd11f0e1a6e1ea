/* The names of runs, as the list of runs has them. */

import { useQuery } from "@tanstack/react-query";

import { trendsQuery } from "../api/trends";

export function useRunNames(): (run: string) => string {
  const runs = useQuery(trendsQuery()).data?.runs ?? [];
  return (run) => runs.find(({ id }) => id === run)?.path ?? run;
}
