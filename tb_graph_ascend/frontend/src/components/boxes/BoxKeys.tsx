/* What each mark of the boxes and edges means – the same over the graph and in the help. */

import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";

import { BACK } from "../../graph/called";
import { rampFill } from "../../graph/ramp";

const COMPARED = ["score", "scores", "begins", "alone"] as const;
const ALWAYS = ["selected", "opens", "repeats", "backward", "edge", "feeds", "fed"] as const;

export function BoxKeys({ comparison }: { comparison: boolean }) {
  const { t } = useTranslation();
  const names = comparison ? [...COMPARED, ...ALWAYS] : ["output" as const, ...ALWAYS];
  return (
    <dl className="legend-keys">
      {names.map((name) => (
        <div key={name}>
          <dt aria-hidden>{MARKS[name]}</dt>
          <dd>{t(`boxes.keys.${name}`)}</dd>
        </div>
      ))}
    </dl>
  );
}

const box = (kind: string, background?: string): ReactNode => <i className={`box-key ${kind}`} style={{ background }} />;

const MARKS: Record<(typeof COMPARED)[number] | (typeof ALWAYS)[number] | "output", ReactNode> = {
  score: box("", rampFill(0.8)),
  scores: "a → b (c)",
  begins: box("begins"),
  alone: box("alone"),
  output: "‖24‖",
  selected: box("selected"),
  opens: "›",
  repeats: "× 3",
  backward: BACK,
  edge: "4×8",
  feeds: <i className="rail-key" style={{ borderColor: "var(--flow-in)" }} />,
  fed: <i className="rail-key" style={{ borderColor: "var(--flow-out)" }} />,
};
