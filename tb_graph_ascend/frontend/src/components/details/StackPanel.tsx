/* The call stacks of both sides, innermost first, with file, line and code told apart; frames of
 * libraries are folded. */

import { useTranslation } from "react-i18next";

import type { NodeDetails } from "../../api/types";
import { useDatabase } from "../../hooks/useDatabase";
import { CopyButton } from "../parts/CopyButton";
import { parseFrame } from "../../text/frames";

export function StackPanel({ details: { stack, node, values } }: { details: NodeDetails }) {
  const { t } = useTranslation();
  const single = useDatabase().data?.comparison === false;
  const sides = (["problem", "benchmark"] as const).filter((side) => stack[side]);
  if (sides.length === 0) {
    // Earlier releases kept no line of such calls, and of them one has nothing else to go by.
    const silent = node.kind === "api" && values.length === 0;
    return <p className="message">{t(silent ? "details.stackAgain" : "details.stackNone")}</p>;
  }
  return (
    <div className="scroll stacks">
      {sides.map((side) => (
        <section key={side}>
          <header>
            <h2 className={`side-tag ${side}`}>{t(single ? "side.single" : `side.${side}`)}</h2>
            <CopyButton text={(stack[side] ?? []).join("\n")} label={t("details.copyStack")} />
          </header>
          <ol>
            {runsOf(stack[side] ?? []).map(({ library, lines }, index) =>
              library ? <Library key={index} lines={lines} /> : <Frames key={index} lines={lines} />,
            )}
          </ol>
        </section>
      ))}
    </div>
  );
}

interface Run {
  library: boolean;
  lines: string[];
}

/** Neighbours of the person's own code, and of libraries. */
function runsOf(stack: readonly string[]): Run[] {
  const runs: Run[] = [];
  for (const line of stack) {
    const { library } = parseFrame(line);
    const last = runs.at(-1);
    if (last?.library === library) last.lines.push(line);
    else runs.push({ library, lines: [line] });
  }
  return runs;
}

function Library({ lines }: { lines: string[] }) {
  const { t } = useTranslation();
  return (
    <li className="library">
      <details>
        <summary>{t("details.libraryFrames", { count: lines.length })}</summary>
        <ol>
          <Frames lines={lines} />
        </ol>
      </details>
    </li>
  );
}

function Frames({ lines }: { lines: string[] }) {
  return lines.map((line, index) => <Frame key={`${index} ${line}`} line={line} />);
}

function Frame({ line }: { line: string }) {
  const { file, number, scope, code, library } = parseFrame(line);
  return (
    <li className={library ? "library" : undefined}>
      <span className="frame-place" title={line}>
        {file}
        {number !== "" && <span className="frame-line">:{number}</span>}
        {scope !== "" && <span className="muted"> {scope}</span>}
      </span>
      {code !== "" && <code>{code}</code>}
    </li>
  );
}
