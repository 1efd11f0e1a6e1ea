/* A node's name in a list: what tells it apart first, the rest muted, the whole on hover. */

import type { Node } from "../../api/types";
import { calledAs } from "../../graph/called";

export function NodeName({ node, full = false }: { node: Node; full?: boolean }) {
  const text = full ? node.name : calledAs(node);
  const cut = text.lastIndexOf(".", text.length - 2);
  const tail = full || node.kind === "api" ? 0 : cut + 1;
  return (
    <span className="node-name" title={node.name}>
      {tail > 0 && <span className="node-path cut-front"><bdi>{text.slice(0, tail)}</bdi></span>}
      <span className="node-tail">{text.slice(tail)}</span>
    </span>
  );
}
