/* Where nothing diverges: what was compared, and what was not, with the way to it. */

import { CircleCheck, TriangleAlert } from "lucide-react";
import type { TFunction } from "i18next";
import { useTranslation } from "react-i18next";

import type { Answer, Formats, LargestError } from "../../api/types";
import { toldBriefly } from "../../graph/named";
import { useWithoutValues } from "../../hooks/useWithoutValues";
import { openPlace } from "../../state/actions";
import { listNodes, WITHOUT_VALUES } from "../../state/listing";
import { claimEvidence, claimGaps, claimHeadline } from "../../i18n/claim";
import { scoreText } from "../../text/numbers";
import { useApp } from "../../state/store";
import { AnswerNotes } from "./AnswerNotes";
import { AnswerTools } from "./AnswerTools";

/** Claims that nothing differs; they are all-clears where all there is was compared. */
const CLEAR = new Set(["equal", "rounding"]);

export function NothingDiverges({ answer }: { answer: Answer }) {
  const { t } = useTranslation();
  const { coverage, divergent, extent, claim } = answer;
  const set = useApp((state) => state.set);
  const { pairs, one_sided: oneSided, failed } = coverage;
  const unmatched = coverage.unmatched_problem + coverage.unmatched_benchmark;
  const silent = useWithoutValues("all");
  const gaps = claimGaps(t, claim);
  if (divergent > 0) return <NotNamed answer={answer} />;
  const clear = claim.whole && CLEAR.has(claim.code);
  const over = pairs > 1 ? t("answer.over", { pairs }) : "";
  // An error of zero is no line of its own.
  const largest = extent?.largest?.error ? extent.largest : undefined;
  const evidence = claimEvidence(t, claim, !largest).join(t("claim.semicolon"));
  const Icon = clear ? CircleCheck : TriangleAlert;
  return (
    <section className={clear ? "answer agrees" : "answer partly"} aria-label={t("answer.label")}>
      <div className="answer-main">
        <h1>
          <Icon aria-hidden size={18} />
          <span>
            {claimHeadline(t, claim)}
            {extent?.formats && formatsText(t, extent.formats)}
          </span>
        </h1>
        <p className="answer-what">
          {evidence}
          {largest && evidence && t("answer.stop")}
          {largest && <Largest largest={largest} />}
        </p>
        {(gaps.length > 0 || !clear || silent > 0) && (
          <ul className="answer-gaps">
            {unmatched > 0 && (
              <li>
                {t("answer.unmatched", { count: unmatched, over })}{" "}
                <button
                  type="button"
                  className="link"
                  onClick={() => listNodes("unmatched", "all")}
                >
                  {t("answer.list")}
                </button>
                {" · "}
                <button type="button" className="link" onClick={() => set({ leftTab: "mapping" })}>
                  {t("answer.map")}
                </button>
              </li>
            )}
            {silent > 0 && (
              <li className="muted">
                {t("answer.withoutValues", { count: silent })}{" "}
                <button type="button" className="link" onClick={() => listNodes(WITHOUT_VALUES, "all")}>
                  {t("answer.list")}
                </button>
              </li>
            )}
            {gaps.map((gap) => <li key={gap}>{gap}</li>)}
            {oneSided > 0 && <li>{t("answer.oneSided", { count: oneSided })}</li>}
            {failed.map(({ step, rank, error }) => (
              <li key={`${step} ${rank}`} title={error ?? undefined}>
                {t("answer.failed", { step, rank, error: error ?? "" })}
              </li>
            ))}
          </ul>
        )}
        <AnswerNotes answer={answer} unmatchedTold />
      </div>
      <HandOn />
    </section>
  );
}

/** The slide and the link, as beside a cause. */
function HandOn() {
  return (
    <div className="answer-side">
      <div className="answer-tools">
        <AnswerTools place={undefined} first={false} />
      </div>
    </div>
  );
}

/** That two runs compute in two formats, as what is said after "both agree". */
function formatsText(t: TFunction, { coarser, coarse, fine, calls, total }: Formats): string {
  const finer = coarser === "problem" ? "benchmark" : "problem";
  return t("answer.formats", { coarser: t(`answer.run.${coarser}`), finer: t(`answer.run.${finer}`), coarse, fine, calls, total });
}

/** The largest error of all, with the way to it: scores inside the tolerance tell nothing more. */
function Largest({ largest }: { largest: LargestError }) {
  const { t } = useTranslation();
  const { step, rank, node, name, value, times, format } = largest;
  const rounded = times ? t("claim.rounded", { times, format }) : "";
  const pass = LET_PASS.find((one) => one === largest.let_pass);
  return (
    <>
      {" "}
      {t("answer.largest", { apart: largest.error, rounded, value })}{" "}
      <button type="button" className="link mono" title={name} onClick={() => void openPlace({ step, rank, node })}>
        {toldBriefly(name)}
      </button>{" "}
      ({t("findings.place", { step, rank })}){pass && `, ${t(`answer.explained.${pass}`)}`}{t("answer.stop")}
    </>
  );
}

const LET_PASS = ["rounding", "inputs", "moved"] as const;

/** Scores above the threshold that nobody laid to a cause: there is something to see. */
function NotNamed({ answer }: { answer: Answer }) {
  const { t } = useTranslation();
  const { threshold, divergent, worst, coverage: { pairs } } = answer;
  const over = pairs > 1 ? t("answer.over", { pairs }) : "";
  return (
    <section className="answer partly" aria-label={t("answer.label")}>
      <div className="answer-main">
        <h1>
          <TriangleAlert aria-hidden size={18} />
          <span>{claimHeadline(t, answer.claim)}</span>
        </h1>
        <p className="answer-what">
          {t("certainty.worst", { count: divergent, over, threshold, worst: scoreText(worst) })}{" "}
          <button type="button" className="link" onClick={() => listNodes("divergent", "all")}>
            {t("certainty.listDivergent")}
          </button>
        </p>
        <AnswerNotes answer={answer} />
      </div>
      <HandOn />
    </section>
  );
}
