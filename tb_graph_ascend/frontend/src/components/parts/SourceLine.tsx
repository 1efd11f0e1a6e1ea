/* The line of code a cause stands on, and the person's own line that led there; the stack on hover. Where the
 * benchmark's line reads otherwise, or gives the call other arguments, it stands below. */

import { useTranslation } from "react-i18next";

import type { Cause } from "../../api/types";
import type { Frame } from "../../text/frames";
import { callerFrame, modelFrame, otherLine, readsOtherwise } from "../../state/sourcelines";

interface Props {
  /** A cause, or where it begins since pairs were made, which is no finding. */
  cause: Pick<Cause, "stack" | "stack_there"> & Partial<Pick<Cause, "finding">>;
}

export function SourceLine({ cause: { stack, stack_there: there, finding } }: Props) {
  const { t } = useTranslation();
  const frame = stack && modelFrame(stack);
  if (!frame) return null;
  const caller = callerFrame(stack, there);
  const other = otherLine(stack, there, finding?.kind === "argument_differs");
  return (
    <>
      <p className="source-line" title={stack.join("\n")}>
        <Place frame={frame} />
        {frame.code !== "" && <code>{frame.code}</code>}
        {caller && <Place frame={caller} />}
        {caller && !frame.library && caller.code !== "" && <code>{caller.code}</code>}
      </p>
      {other && (
        <p className="source-line" title={there?.join("\n")}>
          <span className="muted">{t("answer.there")}</span>
          <Place frame={other} />
          {[frame, caller].some((mine) => mine && readsOtherwise(mine, other)) || other.code === "" ? (
            <code>{other.code}</code>
          ) : (
            <span className="muted">{t("answer.readsTheSame")}</span>
          )}
        </p>
      )}
    </>
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
