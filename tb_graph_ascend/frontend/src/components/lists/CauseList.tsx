/* The causes, best first, one card each however many ranks it is on; the first is where to start. */

import { ChevronDown, ChevronUp } from "lucide-react";
import type { TFunction } from "i18next";
import { useState } from "react";
import { useTranslation } from "react-i18next";

import type { Answer, Reason } from "../../api/types";
import { useAnswer } from "../../hooks/useAnswer";
import { useDatabase } from "../../hooks/useDatabase";
import { fullReason, reasonSentence } from "../../i18n/reason";
import { stepCause } from "../../state/actions";
import { countText } from "../../state/causes";
import { formerText, standingCause } from "../../state/former";
import { claimHeadline } from "../../i18n/claim";
import { scoreText } from "../../text/numbers";
import type { Cell } from "../../state/places";
import { useApp } from "../../state/store";
import { NamedText } from "../answer/NamedText";
import { FailureNotice } from "../parts/FailureNotice";
import { AloneCalls } from "./AloneCalls";
import { CauseCard } from "./CauseCard";
import { NotCompared } from "./NotCompared";
import { OtherDivergent } from "./OtherDivergent";

/** Cards rendered before "more" is asked for. */
const FIRST_CARDS = 50;

export function CauseList() {
  const { t } = useTranslation();
  const { data: database } = useDatabase();
  const answer = useAnswer();
  if (answer.isError) return <FailureNotice error={answer.error} retry={() => void answer.refetch()} />;
  if (!answer.data || !database) return <p className="message">{t("loading")}</p>;
  if (!database.comparison) return <p className="message">{t("findings.single")}</p>;
  const { causes } = answer.data;
  return (
    <>
      {causes.length > 0 && <Steps answer={answer.data} />}
      <div className="scroll">
        {answer.data.since && causes.length > 0 && !standingCause(answer.data) && <p className="summary">{t("certainty.sinceCauses")}</p>}
        {database.summary.length > 0 && (
          <div className="summary">
            <Notes reasons={database.summary} />
          </div>
        )}
        {causes.length > 0 ? (
          <Cards key={`${database.id} ${database.created}`} answer={answer.data} />
        ) : (
          <p className="message">{noCauseText(t, answer.data)}</p>
        )}
        {causes.length > 0 && <AloneCalls key={database.id} causes={causes} />}
        {causes.length > 0 && <OtherDivergent first={causes[0]} />}
        {causes.length > 0 && <NotCompared coverage={answer.data.coverage} />}
      </div>
    </>
  );
}

/** The step and rank of the node that a note names; null where it tells none. */
function placeOf(reason: Reason): Cell | null {
  return "step" in reason && "rank" in reason ? { step: reason.step, rank: reason.rank } : null;
}

/** What the build says of the comparison as a whole; the calls in it are ways to them, in the step that it names or on screen. */
function Notes({ reasons }: { reasons: readonly Reason[] }) {
  const { t } = useTranslation();
  const { step, rank } = useApp();
  const shown = { step: step ?? 0, rank: rank ?? 0 };
  return reasons.map((reason, index) => (
    <span key={index} className="reason" title={fullReason(t, reason)}>
      <NamedText sentence={reasonSentence(t, reason)} at={placeOf(reason) ?? shown} sideOf={() => "problem"} />
      {t("answer.stop")}
    </span>
  ));
}

/** Why no cause is listed, in the words of the answer. */
function noCauseText(t: TFunction, { since, certain, claim, coverage, divergent, threshold, worst }: Answer): string {
  const unmatched = coverage.unmatched_problem + coverage.unmatched_benchmark;
  if (since) return t("certainty.sinceCauses");
  const over = coverage.pairs > 1 ? t("answer.over", { pairs: coverage.pairs }) : "";
  if (!certain) return t("certainty.why", { unmatched, over });
  if (divergent > 0) return t("certainty.worst", { count: divergent, over, threshold, worst: scoreText(worst) });
  return claim.code === "nothing" ? claimHeadline(t, claim) : t("findings.none", { threshold });
}

function Cards({ answer }: { answer: Answer }) {
  const { t } = useTranslation();
  const { causes, since } = answer;
  const standing = standingCause(answer);
  const [limit, setLimit] = useState(FIRST_CARDS);
  return (
    <ol className="findings">
      {causes.slice(0, limit).map((cause, index) => (
        <CauseCard
          key={cause.finding.id}
          cause={cause}
          number={index + 1}
          first={since ? cause === standing : index === 0}
          former={since ? formerText(t, cause, cause === standing) : null}
        />
      ))}
      {causes.length > limit && (
        <li>
          <button type="button" className="link" onClick={() => setLimit(limit * 4)}>
            {t("findings.more", { count: causes.length - limit })}
          </button>
        </li>
      )}
    </ol>
  );
}

function Steps({ answer: { causes, cause_count: count } }: { answer: Answer }) {
  const { t } = useTranslation();
  return (
    <div className="toolbar">
      <span className="muted">{countText(t, causes, count)}</span>
      <span className="spacer" />
      <button
        type="button"
        className="icon"
        aria-label={t("findings.previous")}
        title={t("findings.previous")}
        onClick={() => void stepCause(-1)}
      >
        <ChevronUp aria-hidden size={16} />
      </button>
      <button
        type="button"
        className="icon"
        aria-label={t("findings.next")}
        title={t("findings.next")}
        onClick={() => void stepCause(1)}
      >
        <ChevronDown aria-hidden size={16} />
      </button>
    </div>
  );
}
