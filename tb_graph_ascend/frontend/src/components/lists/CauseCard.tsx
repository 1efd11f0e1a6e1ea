/* One cause: module and call, what differs, its source line, the ranks it is on. */

import { ChevronRight } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";

import type { Cause } from "../../api/types";
import { useAnswer } from "../../hooks/useAnswer";
import { useDatabase } from "../../hooks/useDatabase";
import { useShares } from "../../hooks/useShares";
import { kindText } from "../../i18n/reason";
import { calledAs } from "../../graph/called";
import { openPlace } from "../../state/actions";
import { callText, healing, historyText, isItsModule, isPlaceOf, ledBackTo, nonfiniteMaker, placeText, placesText, reachText, reasonsByPlace } from "../../state/causes";
import { placeOf } from "../../state/places";
import { useApp } from "../../state/store";
import { certaintyText } from "../../text/certainty";
import { NonfiniteMaker } from "../answer/NonfiniteMaker";
import { ReasonList } from "../parts/ReasonList";
import { CauseScore } from "../parts/CauseScore";
import { SourceLine } from "../parts/SourceLine";
import { CauseTokens } from "./CauseTokens";
import { LedBack } from "./LedBack";

/** Places listed before "more" is asked for. */
const FIRST_PLACES = 100;

interface Props {
  cause: Cause;
  number: number;
  /** It is where to start. */
  first: boolean;
  /** What pairs made since it was found mean for it; null where there are none. */
  former: string | null;
}

export function CauseCard({ cause, number, first, former }: Props) {
  const { t } = useTranslation();
  const { data } = useDatabase();
  const current = useApp(({ selected }) => isPlaceOf(cause, selected));
  const { finding, module, spoken, place_count: places } = cause;
  return (
    <li className={["finding", current && "current", former !== null && "former"].filter(Boolean).join(" ")}>
      <button
        type="button"
        className="finding-main"
        aria-current={current}
        title={finding.node.name}
        onClick={() => void openPlace(placeOf(cause))}
      >
        <span className="finding-head">
          <span className={first ? "number first" : "number"}>{number}</span>
          <span className="node-name">
            {module !== null && !isItsModule(module, finding.node.name) && <span className="node-path">{spoken}&nbsp;›&nbsp;</span>}
            <span className="node-tail">{isItsModule(module, finding.node.name) ? calledAs(finding.node) : callText(t, cause)}</span>
          </span>
          <CauseScore cause={cause} />
        </span>
        <span className="finding-meta">
          <StartTag heals={healing(cause) !== undefined} first={first} />
          <span className="tag">{kindText(t, finding)}</span>
          {(data?.pairs.length ?? 0) > 1 && (
            <span>{historyText(t, cause)}</span>
          )}
        </span>
        {former !== null && <span className="reason former-told">{former}</span>}
        <Reasons cause={cause} />
        <span className="reason sure">{certaintyText(t, finding.certainty)}</span>
        <SourceLine cause={cause} />
      </button>
      <CauseTokens cause={cause} />
      {nonfiniteMaker(cause) !== null && (
        <div className="propagated">
          <NonfiniteMaker cause={cause} />
        </div>
      )}
      {places > 1 && <Places cause={cause} />}
      <OwnShare cause={cause} />
      {former === null && <Reach cause={cause} />}
    </li>
  );
}

/** Where to start; what heals is no start, wherever it stands in the list. */
function StartTag({ heals, first }: { heals: boolean; first: boolean }) {
  const { t } = useTranslation();
  if (heals) return <span className="tag">{t("answer.anotherWay")}</span>;
  return first && <span className="tag start">{t("findings.startHere")}</span>;
}

/** Why it is a cause; on another step or rank than that of its numbers, which of them are not of what is on screen. */
function Reasons({ cause }: { cause: Cause }) {
  const { t } = useTranslation();
  const { step, rank } = cause.finding;
  const isHere = useApp((state) => state.step === step && state.rank === rank);
  const { everywhere, there } = reasonsByPlace(cause);
  if (isHere || there.length === 0) return <ReasonList reasons={cause.finding.reasons} />;
  return (
    <>
      <ReasonList reasons={everywhere} />
      <span className="reason muted">{t("findings.seenIn", { step, rank })}</span>
      <ReasonList reasons={there} below={cause.finding.reasons.slice(0, 1)} />
    </>
  );
}

function OwnShare({ cause }: { cause: Cause }) {
  const { t } = useTranslation();
  const alone = useAnswer().data?.causes.length === 1;
  const ledBack = ledBackTo(t, cause, useShares(), alone);
  return ledBack && <LedBack to={ledBack.nodes} text={ledBack.text} />;
}

/** How far it reaches over all of its steps and ranks. */
function Reach({ cause }: { cause: Cause }) {
  const { t } = useTranslation();
  const alone = useAnswer().data?.causes.length === 1;
  const text = reachText(t, cause, alone);
  return text && <p className="muted reach">{text}</p>;
}

function Places({ cause }: { cause: Cause }) {
  const { t } = useTranslation();
  const [open, setOpen] = useState(false);
  const step = useApp((state) => state.step);
  const rank = useApp((state) => state.rank);
  const [limit, setLimit] = useState(FIRST_PLACES);
  const hidden = cause.place_count - Math.min(limit, cause.places.length);
  return (
    <div className="propagated">
      <button type="button" className="fold" aria-expanded={open} onClick={() => setOpen(!open)}>
        <ChevronRight aria-hidden size={13} />
        {placesText(t, cause, { step, rank })}
      </button>
      {open && (
        <ul className="places">
          {cause.places.slice(0, limit).map((place, index) => (
            <li key={index}>
              <button type="button" className="row-button" onClick={() => void openPlace(place)}>
                {placeText(t, cause, place)}
              </button>
            </li>
          ))}
          {hidden > 0 && (
            <li className="rest">
              {limit < cause.places.length ? (
                <button type="button" className="link" onClick={() => setLimit(cause.places.length)}>
                  {t("findings.more", { count: hidden })}
                </button>
              ) : (
                <span className="muted">{t("findings.more", { count: hidden })}</span>
              )}
            </li>
          )}
        </ul>
      )}
    </div>
  );
}
