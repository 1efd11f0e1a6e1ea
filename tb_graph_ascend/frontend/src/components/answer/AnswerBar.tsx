/* The answer to "where does it begin?" in the first sentence, with the line of code it stands on. */

import { ChevronLeft, ChevronRight, CornerDownRight, Link, Presentation } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";

import type { Answer, Cause } from "../../api/types";
import { useAnswer } from "../../hooks/useAnswer";
import { useDatabase } from "../../hooks/useDatabase";
import { useHandOn } from "../../hooks/useHandOn";
import { useShares } from "../../hooks/useShares";
import { showCause } from "../../state/actions";
import { beginsText, callText, causeScoreText, causeText, isPlaceOf, ledBackTo, ranksText } from "../../state/causes";
import { useApp } from "../../state/store";
import { FailureNotice } from "../parts/FailureNotice";
import { ScoreChip } from "../parts/ScoreChip";
import { SourceLine } from "../parts/SourceLine";
import { AnswerNotes } from "./AnswerNotes";
import { FewShared } from "./FewShared";
import { NonfiniteMaker } from "./NonfiniteMaker";
import { NothingDiverges } from "./NothingDiverges";
import { SinceMapping } from "./SinceMapping";

export function AnswerBar() {
  const answer = useAnswer();
  const { data: database } = useDatabase();
  if (answer.isError) {
    return <FailureNotice error={answer.error} retry={() => void answer.refetch()} />;
  }
  if (!answer.data || !database?.comparison) return null;
  if (answer.data.since) return <SinceMapping answer={answer.data} since={answer.data.since} />;
  if (!answer.data.certain) return <FewShared answer={answer.data} />;
  if (answer.data.causes.length === 0) return <NothingDiverges answer={answer.data} />;
  return <Causes key={database.id} answer={answer.data} />;
}

function Causes({ answer }: { answer: Answer }) {
  const { t } = useTranslation();
  const { causes, cause_count: count } = answer;
  const [number, setNumber] = useState(0);
  const shares = useShares();
  const selected = useApp((state) => state.selected);
  // Whoever goes to a place of a cause is told of that cause; elsewhere the one shown stays.
  const [followed, setFollowed] = useState<number | null>(null);
  if (selected !== followed) {
    setFollowed(selected);
    const at = causes.findIndex((one) => isPlaceOf(one, selected));
    if (at >= 0) setNumber(at);
  }
  const cause = causes[Math.min(number, causes.length - 1)];
  if (!cause) return null;
  const ledBack = ledBackTo(t, cause, shares);
  return (
    <section className={answer.changed_pairs > 0 ? "answer stale" : "answer"} aria-label={t("answer.label")}>
      <div className="answer-main">
        <h1>
          <CornerDownRight aria-hidden size={18} />
          <Headline cause={cause} />
        </h1>
        <p className="answer-what">
          <strong className="mono">{callText(t, cause)}</strong>
          {t("answer.says")}
          {causeText(t, cause)} <NonfiniteMaker cause={cause} />
        </p>
        <SourceLine cause={cause} />
        <AnswerNotes answer={answer} />
      </div>
      <div className="answer-side">
        <div className="answer-tools">
          {causes.length > 1 && <Pager number={number} count={causes.length} go={setNumber} />}
          <Tools cause={cause} first={number === 0} />
        </div>
        <p className="muted" title={t("notes.ledBackHelp", { threshold: answer.threshold })}>
          {t("answer.causes", { count })}
          {ledBack && <span className="wide-only"> · {ledBack.text}</span>}
        </p>
      </div>
    </section>
  );
}

function Headline({ cause }: { cause: Cause }) {
  const { t } = useTranslation();
  const { finding, module, place_count: places } = cause;
  const where = beginsText(t, module);
  const place =
    places > 1
      ? ranksText(t, cause)
      : t("findings.place", { step: finding.step, rank: finding.rank });
  return (
    <span>
      {where} <span className="answer-place">{place}</span>{" "}
      {finding.score !== null && <ScoreChip score={finding.score} title={causeScoreText(t, cause)} />}
    </span>
  );
}

function Tools({ cause, first }: { cause: Cause; first: boolean }) {
  const { t } = useTranslation();
  const { copyLink, saveSlide } = useHandOn();
  return (
    <>
      <button
        type="button"
        className="button primary"
        title={t("findings.startHereKey")}
        onClick={() => void showCause(cause)}
      >
        {t("answer.show")} {first && <kbd aria-hidden>F</kbd>}
      </button>
      <button type="button" className="button" title={t("share.slide")} aria-label={t("answer.slide")} onClick={() => saveSlide("png")}>
        <Presentation aria-hidden size={14} /> <span className="wide-only">{t("answer.slide")}</span>
      </button>
      <button type="button" className="button" title={t("share.link")} aria-label={t("answer.link")} onClick={copyLink}>
        <Link aria-hidden size={14} /> <span className="wide-only">{t("answer.link")}</span>
      </button>
    </>
  );
}

function Pager({ number, count, go }: { number: number; count: number; go: (to: number) => void }) {
  const { t } = useTranslation();
  return (
    <span className="pager" role="group" aria-label={t("answer.pages")}>
      <button
        type="button"
        className="icon small"
        aria-label={t("answer.previous")}
        disabled={number === 0}
        onClick={() => go(number - 1)}
      >
        <ChevronLeft aria-hidden size={15} />
      </button>
      <span role="status">{t("search.position", { position: number + 1, count })}</span>
      <button
        type="button"
        className="icon small"
        aria-label={t("answer.next")}
        disabled={number === count - 1}
        onClick={() => go(number + 1)}
      >
        <ChevronRight aria-hidden size={15} />
      </button>
    </span>
  );
}
