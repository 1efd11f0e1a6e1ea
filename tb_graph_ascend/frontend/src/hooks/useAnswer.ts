/* Where it begins, of the open database. */

import { useQuery } from "@tanstack/react-query";

import { answerQuery } from "../api/queries";
import { healing } from "../state/causes";
import { useApp } from "../state/store";

/** Whether a beginning is named, or nothing is known of it yet; another way to the same result is none. */
export function useBegins(): boolean {
  const { data } = useAnswer();
  return !data || data.causes.some((cause) => !healing(cause)) || data.since?.node != null;
}

export function useAnswer() {
  const db = useApp((state) => state.db);
  return useQuery({ ...answerQuery(db ?? ""), enabled: db !== null });
}
