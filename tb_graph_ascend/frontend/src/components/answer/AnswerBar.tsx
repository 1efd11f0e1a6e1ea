/* The answer to "where does it begin?" in the first sentence, with the line of code it stands on. */

import { ChevronLeft, ChevronRight, CornerDownRight, Merge } from "lucide-react";
import { useEffect, useState } from "react";
import { useTranslation } from "react-i18next";

import type { Answer, Cause, Claim } from "../../api/types";
import { useAnswer } from "../../hooks/useAnswer";
import { useDatabase } from "../../hooks/useDatabase";
import { useShares } from "../../hooks/useShares";
import { useUnnamedCalls } from "../../hooks/useUnnamedCalls";
import { openPlace, selectNode } from "../../state/actions";
import { calledAs } from "../../graph/called";
import { beginsText, callText, causeSentence, countText, healing, historyText, isElsewhere, isPlaceOf, ledBackTo, sideOfName } from "../../state/causes";
import { standingCause } from "../../state/former";
import { placeOf } from "../../state/places";
import { useShownCause } from "../../state/showncause";
import { useApp } from "../../state/store";
import { certaintyText } from "../../text/certainty";
import { FailureNotice } from "../parts/FailureNotice";
import { CauseScore } from "../parts/CauseScore";
import { SourceLine } from "../parts/SourceLine";
import { AnswerNotes } from "./AnswerNotes";
import { AnswerTools } from "./AnswerTools";
import { FewShared } from "./FewShared";
import { NamedText } from "./NamedText";
import { NothingDiverges } from "./NothingDiverges";
import { SinceMapping } from "./SinceMapping";

export function AnswerBar() {
  const { t } = useTranslation();
  const answer = useAnswer();
  const { data: database } = useDatabase();
  if (answer.isError) {
    return <FailureNotice error={answer.error} retry={() => void answer.refetch()} />;
  }
  if (!answer.data || !database) return null;
  if (!database.comparison) return <h1 className="sr-only">{t("graphOf", { path: database.problem })}</h1>;
  const { since } = answer.data;
  if (since && !standingCause(answer.data)) return <SinceMapping answer={answer.data} since={since} />;
  if (!answer.data.certain) return <FewShared answer={answer.data} />;
  if (answer.data.causes.length === 0) return <NothingDiverges answer={answer.data} />;
  return <Causes key={database.id} answer={answer.data} />;
}

function Causes({ answer }: { answer: Answer }) {
  const { t } = useTranslation();
  const { causes, cause_count: count } = answer;
  const standing = standingCause(answer);
  const [number, setNumber] = useState(standing ? causes.indexOf(standing) : 0);
  const go = (to: number): void => {
    const next = causes[to];
    if (!next) return;
    setNumber(to);
    void openPlace(placeOf(next));
  };
  const shares = useShares();
  const selected = useApp((state) => state.selected);
  const rank = useApp((state) => state.rank);
  // Whoever goes to a place of a cause is told of that cause; elsewhere the one shown stays.
  const [followed, setFollowed] = useState<number | null>(null);
  if (selected !== followed) {
    setFollowed(selected);
    const at = causes.findIndex((one) => isPlaceOf(one, selected));
    if (at >= 0) setNumber(at);
  }
  const cause = causes[Math.min(number, causes.length - 1)];
  useEffect(() => {
    useShownCause.setState({ cause: cause ?? null });
    return () => useShownCause.setState({ cause: null });
  }, [cause]);
  if (!cause) return null;
  const ledBack = ledBackTo(t, cause, shares, causes.length === 1);
  const heals = healing(cause) !== undefined;
  const tones = ["answer", heals && "heals", answer.changed_pairs > 0 && "stale"];
  const Icon = heals ? Merge : CornerDownRight;
  return (
    <section className={tones.filter(Boolean).join(" ")} aria-label={t("answer.label")}>
      <div className="answer-main">
        <h1>
          <Icon aria-hidden size={18} />
          <Headline cause={cause} claim={answer.claim} />
        </h1>
        <p className="answer-what">
          <button type="button" className="link mono" title={cause.finding.node.name} onClick={() => void openPlace(placeOf(cause))}>
            <strong>{callText(t, cause)}</strong>
          </button>
          {t("answer.says")}
          <NamedText sentence={causeSentence(t, cause)} at={cause.finding} sideOf={(name) => sideOfName(cause, name)} />
          {isOnRanks(cause) && <span className="muted"> {t("answer.numbersOf", { rank: cause.finding.rank })}</span>}
        </p>
        <p className="muted answer-sure">{certaintyText(t, cause.finding.certainty)}</p>
        <SourceLine cause={cause} />
        <AnswerNotes answer={answer} cause={cause} />
      </div>
      <div className="answer-side">
        <div className="answer-tools">
          {causes.length > 1 && <Pager number={number} count={causes.length} go={go} />}
          <AnswerTools place={placeOf(cause)} first={standing ? cause === standing : number === 0} heals={heals} />
        </div>
        <p className="muted" title={t("notes.ledBackHelp", { threshold: answer.threshold })}>
          {countText(t, causes, count)}
          {!heals && <PerhapsMore causes={causes} />}
          {ledBack && <span className="wide-only"> · {ledBack.text}</span>}
          {isElsewhere(cause, rank) && <span> · {t("answer.notHere", { rank })}</span>}
        </p>
      </div>
    </section>
  );
}

/** Whether a cause is on several ranks: its numbers are those of one. */
function isOnRanks({ finding }: Cause): boolean {
  return finding.places.some(({ rank }) => rank !== finding.rank);
}

function Headline({ cause, claim }: { cause: Cause; claim: Claim }) {
  const { t } = useTranslation();
  return (
    <span>
      {beginsText(t, cause, claim)} <span className="answer-place">{historyText(t, cause)}</span>{" "}
      {cause.worst !== null && !healing(cause) && <CauseScore cause={cause} />}
    </span>
  );
}

/** The first call that one run alone makes and no cause names: it may be one of its own. */
function PerhapsMore({ causes }: { causes: readonly Cause[] }) {
  const { t } = useTranslation();
  const [call] = useUnnamedCalls(causes);
  const told = t("answer.perhapsMore", { count: causes.length });
  const also = call ? told + calledAs(call) : "";
  useEffect(() => {
    useShownCause.setState({ also });
    return () => useShownCause.setState({ also: "" });
  }, [also]);
  if (!call) return null;
  return (
    <>
      {t("answer.comma")}
      {told}
      <button type="button" className="link mono" title={t("notes.alone")} onClick={() => void selectNode(call.id)}>
        {calledAs(call)}
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
