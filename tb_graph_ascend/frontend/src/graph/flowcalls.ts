/* The calls at the other ends of a value's rails, each told once. */

import type { FlowLink } from "../api/types";

/** One link a call, its first; a module around a call that is among them tells the same once more. */
export function distinctCalls(links: readonly FlowLink[]): FlowLink[] {
  const calls = new Map<number, FlowLink>();
  for (const link of links) if (!calls.has(link.node.id)) calls.set(link.node.id, link);
  const around = new Set([...calls.values()].map(({ node }) => node.parent));
  return [...calls.values()].filter(({ node }) => !around.has(node.id));
}
