/* Where it begins, of the open database. */

import { useQuery } from "@tanstack/react-query";

import { answerQuery } from "../api/queries";
import { useApp } from "../state/store";

export function useAnswer() {
  const db = useApp((state) => state.db);
  return useQuery({ ...answerQuery(db ?? ""), enabled: db !== null });
}
