/* What a node is called where one speaks of it: a call by name and number, a module by its path, each
 * with a mark where it ran backward: the forward call has the same name and number. */

import type { Node } from "../api/types";
import { shortName, spokenModule, tellingEnd } from "./labels";

const CALL = /\.(\d+)\.(?:forward|backward)$/;
const BACKWARD = /\.(?:backward|parameters_grad)(?:\.\d+)?$/;

/** Stands after the name of what ran backward, in rows, boxes and sentences alike. */
export const BACK = "↩";

export function calledAs({ kind, name, label }: Pick<Node, "kind" | "name" | "label">): string {
  return marked(kind === "api" ? callOf(name, label) : spokenModule(shortName(name), name), BACKWARD.test(name));
}

/** The same of a name alone: `Functional.softmax.2.forward` is `softmax #2`. */
export function calledByName(name: string): string {
  const [type, label = name] = name.split(".");
  return calledAs({ kind: type === "Module" || type === "Cell" ? "module" : "api", name, label });
}

/** What a node is called where its module stands beside it: a call by name and number, a module by the end of its path. */
export function calledBriefly({ kind, name, label }: Pick<Node, "kind" | "name" | "label">): string {
  if (kind === "api") return callOf(name, label);
  return kind === "module" ? spokenModule(/^\d+$/.test(label) ? tellingEnd(shortName(name)) : label, name) : label;
}

/** A name with the mark, where it is due. */
export function marked(name: string, backward: boolean): string {
  return backward ? `${name} ${BACK}` : name;
}

function callOf(name: string, label: string): string {
  const call = CALL.exec(name)?.[1];
  return call === undefined ? label : `${label} #${call}`;
}
