/* What a node is called where one speaks of it: a call by name and number, a module by its path. */

import type { Node } from "../api/types";
import { shortName } from "./labels";

const CALL = /\.(\d+)\.(?:forward|backward)$/;

export function calledAs({ kind, name, label }: Pick<Node, "kind" | "name" | "label">): string {
  if (kind !== "api") return shortName(name);
  const call = CALL.exec(name)?.[1];
  return call === undefined ? label : `${label} #${call}`;
}
