/* The line of code a cause stands on, and the person's own line that led there; the stack on hover. Where the
 * benchmark's line reads otherwise, or gives the call other arguments, it stands below, and the words that differ are
 * marked in both. */

import { Fragment, type ReactNode } from "react";
import { useTranslation } from "react-i18next";

import type { Cause, Side } from "../../api/types";
import { type LinesApart, callerFrame, modelFrame, otherLine, readsOtherwise, saidOfSame } from "../../state/sourcelines";
import type { Frame } from "../../text/frames";
import { wordsApart } from "../../text/wordsapart";

const BREAKS = /(?<=[([{,])|(?<=\.)(?=[A-Za-z_])/;

interface Props {
  /** A cause, or where it begins since pairs were made, which is no finding. */
  cause: Pick<Cause, "stack" | "stack_there"> & Partial<Pick<Cause, "finding">>;
}

export function SourceLine({ cause: { stack, stack_there: there, finding } }: Props) {
  const frame = stack && modelFrame(stack);
  if (!frame) return null;
  const caller = callerFrame(stack, there);
  const lines = otherLine(stack, there, finding?.kind === "argument_differs");
  const against = ({ file, number }: Frame): string | undefined =>
    lines?.mine.file === file && lines.mine.number === number ? lines.other.code : undefined;
  return (
    <>
      <p className="source-line" title={stack.join("\n")}>
        <Place frame={frame} />
        <Code code={frame.code} other={against(frame)} side="problem" />
      </p>
      {caller && (
        <p className="source-line" title={stack.join("\n")}>
          <Place frame={caller} />
          {!frame.library && <Code code={caller.code} other={against(caller)} side="problem" />}
        </p>
      )}
      {lines && <LineThere lines={lines} stack={there} />}
    </>
  );
}

function LineThere({ lines, stack }: { lines: LinesApart; stack: readonly string[] | null }) {
  const { t } = useTranslation();
  const { mine, other } = lines;
  return (
    <p className="source-line" title={stack?.join("\n")}>
      <span className="muted">{t("answer.there")}</span> <Place frame={other} />
      {readsOtherwise(mine, other) || other.code === "" ? (
        <Code code={other.code} other={mine.code} side="benchmark" />
      ) : (
        <span className="muted">{t(`answer.${saidOfSame(lines)}`)}</span>
      )}
    </p>
  );
}

/** A line of code, with a mark on the words that another one, if there is one, has otherwise. */
function Code({ code, other, side }: { code: string; other: string | undefined; side: Side }) {
  if (code === "") return null;
  if (!other) return <code>{breakable(code)}</code>;
  const { before, apart, after } = wordsApart(code, other);
  return (
    <code>
      {breakable(before)}
      {apart !== "" && <mark className={side}>{breakable(apart)}</mark>}
      {breakable(after)}
    </code>
  );
}

/** Code that wraps behind brackets, commas and the dots of names, not inside of words. */
function breakable(code: string): ReactNode {
  return code.split(BREAKS).map((part, index) => (
    <Fragment key={index}>
      {index > 0 && <wbr />}
      {part}
    </Fragment>
  ));
}

/** A file and line, and the gap behind it. */
function Place({ frame: { file, number } }: { frame: Frame }) {
  return (
    <>
      <span className="muted mono source-place">
        {file.split(/[\\/]/).pop() ?? file}
        {number !== "" && `:${number}`}
      </span>{" "}
    </>
  );
}
