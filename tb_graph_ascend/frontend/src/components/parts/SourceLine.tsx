/* The line of code a cause stands on, and the person's own line that led there; the stack on hover. */

import type { Frame } from "../../text/frames";
import { callerFrame, modelFrame } from "../../state/causes";

export function SourceLine({ stack }: { stack: readonly string[] | null }) {
  const frame = stack && modelFrame(stack);
  if (!frame) return null;
  const caller = callerFrame(stack);
  return (
    <p className="source-line" title={stack.join("\n")}>
      <Place frame={frame} />
      {frame.code !== "" && <code>{frame.code}</code>}
      {caller && <Place frame={caller} />}
    </p>
  );
}

function Place({ frame: { file, number } }: { frame: Frame }) {
  return (
    <span className="muted mono">
      {file.split(/[\\/]/).pop() ?? file}
      {number !== "" && `:${number}`}
    </span>
  );
}
