/* Step, rank and micro-step: a list each, with arrows to the neighbours. */

import { ChevronLeft, ChevronRight } from "lucide-react";
import { useTranslation } from "react-i18next";

import { useDatabase } from "../../hooks/useDatabase";
import { chooseMicroStep, openPair } from "../../state/actions";
import { ranksAt, stepsOf } from "../../state/pairs";
import { useApp } from "../../state/store";

export function PairChoice() {
  const { t } = useTranslation();
  const { data } = useDatabase();
  const step = useApp((state) => state.step);
  const rank = useApp((state) => state.rank);
  if (!data || step === null || rank === null) return null;
  const steps = stepsOf(data.pairs);
  const ranks = ranksAt(data.pairs, step);
  const toStep = (next: number): void => {
    const there = ranksAt(data.pairs, next);
    void openPair(next, there.includes(rank) ? rank : (there[0] ?? rank));
  };
  return (
    <>
      <Stepper
        label={t("header.step")}
        before={t("header.previousStep")}
        after={t("header.nextStep")}
        values={steps}
        value={step}
        choose={toStep}
      />
      <Stepper
        label={t("header.rank")}
        before={t("header.previousRank")}
        after={t("header.nextRank")}
        values={ranks}
        value={rank}
        choose={(next) => void openPair(step, next)}
      />
      <MicroStepChoice />
    </>
  );
}

interface StepperProps {
  label: string;
  before: string;
  after: string;
  values: number[];
  value: number;
  choose: (value: number) => void;
}

function Stepper({ label, before, after, values, value, choose }: StepperProps) {
  const index = values.indexOf(value);
  const go = (shift: number): void => {
    const next = values[index + shift];
    if (next !== undefined) choose(next);
  };
  if (values.length < 2) {
    return (
      <span className="stepper">
        <span className="stepper-label">{label}</span> {value}
      </span>
    );
  }
  return (
    <div className="stepper" role="group" aria-label={label}>
      <span className="stepper-label" aria-hidden>
        {label}
      </span>
      <button
        type="button"
        className="icon small"
        aria-label={before}
        title={before}
        disabled={index <= 0}
        onClick={() => go(-1)}
      >
        <ChevronLeft aria-hidden size={15} />
      </button>
      <select
        aria-label={label}
        value={value}
        onChange={(event) => choose(Number(event.target.value))}
      >
        {values.map((one) => (
          <option key={one}>{one}</option>
        ))}
      </select>
      <button
        type="button"
        className="icon small"
        aria-label={after}
        title={after}
        disabled={index >= values.length - 1}
        onClick={() => go(1)}
      >
        <ChevronRight aria-hidden size={15} />
      </button>
    </div>
  );
}

function MicroStepChoice() {
  const { t } = useTranslation();
  const session = useApp((state) => state.session);
  const microStep = useApp((state) => state.microStep);
  const count = session?.pair.problem?.micro_steps ?? session?.pair.benchmark?.micro_steps ?? 1;
  if (count < 2) return null;
  return (
    <label className="stepper">
      <span className="stepper-label">{t("header.microStep")}</span>
      <select
        value={microStep ?? ""}
        onChange={({ target }) =>
          void chooseMicroStep(target.value === "" ? null : Number(target.value))
        }
      >
        <option value="">{t("header.allMicroSteps")}</option>
        {Array.from({ length: count }, (_, one) => (
          <option key={one}>{one}</option>
        ))}
      </select>
    </label>
  );
}
