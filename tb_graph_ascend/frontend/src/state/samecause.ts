/* A cause of an earlier step that adds its difference again in a step without a cause of its own. */

import type { Cause, Node, SameCause } from "../api/types";
import { isPlaceOf } from "./causes";

/** What is said of a step in which a cause of an earlier one shows again: whether what comes in differs already. */
export function sameCauseKey({ comes_in: comesIn }: Pick<SameCause, "comes_in">): "notes.sameCause" | "notes.sameCauseAlone" {
  return comesIn ? "notes.sameCause" : "notes.sameCauseAlone";
}

/** Whether a node is where a cause of an earlier step shows `again`, or another of its places there by its name. */
export function isSameCause(causes: readonly Cause[], { node, first }: Pick<SameCause, "node" | "first">, { id, name, side }: Pick<Node, "id" | "name" | "side">): boolean {
  if (id === node) return true;
  const cause = causes.find((one) => isPlaceOf(one, first));
  return cause?.finding.node.side === side && cause.places.some((place) => place.name === name);
}
