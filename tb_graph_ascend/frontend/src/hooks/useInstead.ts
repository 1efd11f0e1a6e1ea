/* Of a call that one run alone makes: its output as it is read, beside what the other run's is given there. */

import { useQuery } from "@tanstack/react-query";

import { detailsQuery } from "../api/queries";
import type { Flow, Node, NodeDetails, ValuePair } from "../api/types";
import { useApp } from "../state/store";

export interface Instead {
  /** The call that both runs have and that tells what the other one gives it. */
  reader: Node;
  value: ValuePair;
}

export function useInstead({ node, handed_on: handed }: NodeDetails, flow: Flow | undefined): Instead | null {
  const db = useApp((state) => state.db);
  const link = handed ? flow?.consumers.find((one) => one.value === handed.value) : undefined;
  const answer = useQuery({
    ...detailsQuery(db ?? "", link?.node.id ?? 0),
    enabled: db !== null && link !== undefined,
  });
  // The answer may still be of the call before; ids tell.
  const value = answer.data?.values.find((one) => one[node.side]?.id === link?.value);
  if (!link || !value?.problem || !value.benchmark) return null;
  return { reader: link.node, value: { ...value, worst: false } };
}
