/* Where it begins by what was measured since pairs were made by hand, until a rebuild diagnoses it. */

import { CornerDownRight } from "lucide-react";
import { useTranslation } from "react-i18next";

import type { Answer, Since } from "../../api/types";
import { calledAs } from "../../graph/called";
import { goTo } from "../../state/actions";
import { OPTIMIZER } from "../../state/causes";
import { scoreText } from "../../text/numbers";
import { AnswerNotes } from "./AnswerNotes";

export function SinceMapping({ answer, since }: { answer: Answer; since: Since }) {
  const { t } = useTranslation();
  const { step, rank, node, module } = since;
  return (
    <section className="answer provisional" aria-label={t("answer.label")}>
      <div className="answer-main">
        <h1>
          <CornerDownRight aria-hidden size={18} />
          <span>
            {node === null
              ? t("certainty.sinceNowhere")
              : module === null
                ? t("certainty.sinceTop")
                : module === OPTIMIZER
                  ? t("certainty.sinceOptimizer")
                  : t("certainty.since", { module })}{" "}
            {node && <span className="answer-place">{t("findings.place", { step, rank })}</span>}
          </span>
        </h1>
        <p className="answer-what">
          {node === null
            ? t("certainty.sinceNone", { threshold: answer.threshold })
            : t("certainty.sinceWhat", { call: calledAs(node), score: scoreText(node.score) })}
        </p>
        <AnswerNotes answer={answer} current />
      </div>
      {node && (
        <div className="answer-side">
          <div className="answer-tools">
            <button type="button" className="button" onClick={() => void goTo({ step, rank, node: node.id })}>
              {t("answer.show")}
            </button>
          </div>
        </div>
      )}
    </section>
  );
}
