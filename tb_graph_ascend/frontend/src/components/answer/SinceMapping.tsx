/* Where it begins by what was measured since pairs were made by hand, until a rebuild diagnoses it. */

import { CornerDownRight } from "lucide-react";
import { useTranslation } from "react-i18next";

import type { Answer, Since } from "../../api/types";
import { calledAs } from "../../graph/called";
import { OPTIMIZER, scriptPlace } from "../../state/causes";
import { beginningOf } from "../../state/former";
import { scoreText } from "../../text/numbers";
import { SourceLine } from "../parts/SourceLine";
import { AnswerNotes } from "./AnswerNotes";
import { AnswerTools } from "./AnswerTools";

export function SinceMapping({ answer, since }: { answer: Answer; since: Since }) {
  const { t } = useTranslation();
  const { step, rank, node, module, spoken } = since;
  const { cause_count: count } = answer;
  return (
    <section className="answer provisional" aria-label={t("answer.label")}>
      <div className="answer-main">
        <h1>
          <CornerDownRight aria-hidden size={18} />
          <span>
            {node === null
              ? t("claim.say.since_nowhere")
              : module === OPTIMIZER
                ? t("certainty.sinceOptimizer")
                : t("certainty.since", { module: spoken ?? scriptPlace(t, since, since.line_alone) })}{" "}
            {node && <span className="answer-place">{t("findings.place", { step, rank })}</span>}
          </span>
        </h1>
        <p className="answer-what">
          {node === null
            ? t("certainty.sinceNone", { threshold: answer.threshold })
            : t("certainty.sinceWhat", { call: calledAs(node), score: scoreText(node.score) })}{" "}
          {count > 0 && t("certainty.formerListed", { count })}
        </p>
        <SourceLine cause={since} />
        <AnswerNotes answer={answer} current />
      </div>
      <div className="answer-side">
        <div className="answer-tools">
          <AnswerTools place={beginningOf(answer)} first />
        </div>
      </div>
    </section>
  );
}
