/* What each mark of the boxes and edges means – the same over the graph and in the help. */

import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";

import { BACK } from "../../graph/called";
import { EDGE_LOOKS, KNOWN, type Known } from "../../graph/edgelook";
import { rampFill } from "../../graph/ramp";

const COMPARED = ["score", "scores", "begins", "beginsInside", "heals", "differs", "alone"] as const;
const ALWAYS = ["selected", "opens", "repeats", "backward", "edge", "noValues", "input", "feeds", "fed"] as const;

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
      {KNOWN.map((how) => (
        <div key={how}>
          <dt aria-hidden>
            <EdgeMark how={how} />
          </dt>
          <dd>{t(`boxes.known.${how}`)}</dd>
        </div>
      ))}
    </dl>
  );
}

function EdgeMark({ how }: { how: Known }) {
  const { dash, opacity, arrow } = EDGE_LOOKS[how];
  return (
    <svg width={34} height={10} role="presentation">
      <path
        d="M1 5H27"
        stroke="currentColor"
        strokeWidth={1.5}
        strokeOpacity={opacity}
        strokeDasharray={dash ?? undefined}
        strokeLinecap={dash === null ? undefined : "round"}
      />
      {arrow && <path d="M26 1.5L33 5L26 8.5z" fill="currentColor" fillOpacity={opacity} />}
    </svg>
  );
}

function NoValues() {
  const { t } = useTranslation();
  return <i>{t("boxes.noValues")}</i>;
}

const box = (kind: string, background?: string): ReactNode => <i className={`box-key ${kind}`} style={{ background }} />;

const MARKS: Record<(typeof COMPARED)[number] | (typeof ALWAYS)[number] | "output", ReactNode> = {
  score: box("", rampFill(0.8)),
  scores: "a → b (c)",
  begins: box("begins"),
  beginsInside: box("begins inside"),
  heals: box("heals"),
  differs: <i className="rail-key" style={{ borderColor: "var(--rail-bad)" }} />,
  alone: box("alone"),
  output: "‖24‖",
  selected: box("selected"),
  opens: "›",
  repeats: "× 3",
  backward: BACK,
  edge: "4×8",
  noValues: <NoValues />,
  input: box("input"),
  feeds: <i className="rail-key" style={{ borderColor: "var(--flow-in)" }} />,
  fed: <i className="rail-key" style={{ borderColor: "var(--flow-out)" }} />,
};
