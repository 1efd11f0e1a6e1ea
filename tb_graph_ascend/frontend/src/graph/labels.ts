/* What a box says: the path below the parent for modules, the call's name for APIs.
 * `Module.layers.2.mlp.MLP.forward.0` inside `Module.layers.2.Block.forward.0` reads `mlp  MLP`. */

import type { Node } from "../api/types";

export interface Label {
  text: string;
  /** Class of a module, family of a call. */
  detail: string;
  backward: boolean;
}

const MODULE = /^(?:Module|Cell)\.(.+)\.([^.]+)\.(?:forward|backward)(?:\.\d+)?$/;

const MODULE_CALL = /^(?:Module|Cell)\..+\.(?:forward|backward)\.(\d+)$/;

const GRADIENTS = /^(?:Module|Cell)\.(.+)\.[^.]+\.parameters_grad(?:\.\d+)?$/;

/** The label of a node under its parent. */
export function labelOf(node: Node, parent: Node | undefined): Label {
  const backward = node.direction === "backward";
  const own = node.kind === "module" ? MODULE.exec(node.name) : null;
  if (own?.[1] === undefined || own[2] === undefined) {
    return { text: node.label, detail: familyOf(node), backward };
  }
  const path = own[1];
  const above = parent ? MODULE.exec(parent.name)?.[1] : undefined;
  const below = above !== undefined && path.startsWith(`${above}.`);
  return { text: below ? path.slice(above.length + 1) : path, detail: own[2], backward };
}

/** The dump's name without its call number and direction, for lists. */
export function shortName(name: string): string {
  const own = MODULE.exec(name);
  if (own?.[1] !== undefined) return own[1];
  const gradients = GRADIENTS.exec(name)?.[1];
  if (gradients !== undefined) return `${gradients}.parameters_grad`;
  return name.replace(/\.\d+\.(?:forward|backward)$/, "");
}

/** A module as one speaks of it, by a part of its path: with its class where that is a number, which tells nothing, and
 * with the number of the call where it is not its first. */
export function spokenModule(path: string, name: string): string {
  const type = /^\d+(?:\.\d+)*$/.test(path) ? MODULE.exec(name)?.[2] : undefined;
  const call = MODULE_CALL.exec(name)?.[1] ?? "0";
  return (type === undefined ? path : `${path} (${type})`) + (call === "0" ? "" : ` #${call}`);
}

/** The end of a path that tells what it is of: `up.2`, for a bare `2` reads as a number. */
export function tellingEnd(path: string): string {
  return /[^.]*[^.\d][^.]*(?:\.\d+)*$/.exec(path)?.[0] ?? path;
}

/** Begins the name of the calls that stand together between two modules. */
const BETWEEN = "Apis_Between_Modules.";

/** Kind and label of a node of which only the name is known. */
export function labelOfName(name: string): Pick<Node, "kind" | "label"> {
  if (MODULE.test(name) || GRADIENTS.test(name)) return { kind: "module", label: shortName(name) };
  if (name.startsWith(BETWEEN)) return { kind: "collection", label: name };
  return { kind: "api", label: shortName(name).split(".").slice(1).join(".") || name };
}

function familyOf(node: Node): string {
  if (node.kind !== "api") return "";
  const family = node.name.split(".", 1)[0] ?? "";
  return family === node.label ? "" : family;
}
