/* The call stacks of both sides, innermost first, with file, line and code told apart. */

import { useTranslation } from "react-i18next";

import type { NodeDetails } from "../api/types";
import { CopyButton } from "./CopyButton";
import { parseFrame } from "../graph/frames";

export function StackPanel({ details: { stack } }: { details: NodeDetails }) {
  const { t } = useTranslation();
  const sides = (["problem", "benchmark"] as const).filter((side) => stack[side]);
  if (sides.length === 0) return <p className="message">{t("details.stackNone")}</p>;
  return (
    <div className="scroll stacks">
      {sides.map((side) => (
        <section key={side}>
          <header>
            <h3 className={`side-tag ${side}`}>{t(`side.${side}`)}</h3>
            <CopyButton text={(stack[side] ?? []).join("\n")} label={t("details.copyStack")} />
          </header>
          <ol>
            {(stack[side] ?? []).map((line, index) => (
              <Frame key={`${index} ${line}`} line={line} />
            ))}
          </ol>
        </section>
      ))}
    </div>
  );
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
