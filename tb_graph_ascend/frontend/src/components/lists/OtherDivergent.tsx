/* The divergent nodes of the step and rank on screen that go back to none of the causes: with those of the
 * causes they add up to the count over the page. */

import { useTranslation } from "react-i18next";

import type { Cause, DivergentShares } from "../../api/types";
import { calledByName } from "../../graph/called";
import { useShares } from "../../hooks/useShares";
import { goTo } from "../../state/actions";
import { placeOf } from "../../state/places";
import { sameCauseKey } from "../../state/samecause";
import { useApp } from "../../state/store";
import { LedBack } from "./LedBack";

/** `first` is the cause that is named first. */
export function OtherDivergent({ first }: { first: Cause | undefined }) {
  const { t } = useTranslation();
  const shares = useShares();
  if (!shares || shares.others + shares.earlier + shares.perhaps === 0) return null;
  const { others: count, earlier, earlier_step: before, divergent, perhaps } = shares;
  // Such a way leads on in the step before, where a guess may lie on it.
  const guessed = (first?.finding.perhaps ?? 0) > 0;
  return (
    <section className="not-compared">
      <h2>{t("notes.divergentHere")}</h2>
      {perhaps > 0 && (
        <>
          <p>{t("notes.guessed")}</p>
          <LedBack to="perhaps" text={t("notes.guessedHere", { count: perhaps, divergent })} />
        </>
      )}
      {earlier > 0 && before !== null && (
        <>
          <p>{t("notes.earlier", { step: before })}</p>
          <LedBack to="earlier" text={t(guessed ? "notes.throughWeightsPerhaps" : "notes.throughWeights", { count: earlier, divergent, step: before })} />
        </>
      )}
      {count > 0 && <Others shares={shares} first={first} />}
    </section>
  );
}

/** Those to which no way leads, neither from a cause here nor from the step before. */
function Others({ shares, first }: { shares: DivergentShares; first: Cause | undefined }) {
  const { t } = useTranslation();
  const { causes, others: count, earlier, divergent, ahead, came } = shares;
  const all = causes.length + earlier === 0;
  if (causes.length > 0 && ahead === 0 && !came) {
    return (
      <>
        <p>{t("notes.behind")}</p>
        <LedBack to="none" text={t("notes.behindHere", { count, divergent })} />
      </>
    );
  }
  return (
    <>
      {causes.length > 0 && !came ? <Untraced first={first} /> : <FromElsewhere shares={shares} first={first} />}
      <LedBack to="none" text={all ? t("notes.allHere", { count }) : t(came ? "notes.othersOnRank" : "notes.others", { count, divergent })} />
    </>
  );
}

/** That they come after a cause is no proof; where the first of all is in an earlier step, that is told. */
function Untraced({ first }: { first: Cause | undefined }) {
  const { t } = useTranslation();
  const here = useApp((state) => state.step) ?? 0;
  const place = first && placeOf(first);
  if (!place || place.step >= here) return <p>{t("notes.untraced")}</p>;
  return (
    <p>
      {t("notes.untraced")} {t("notes.firstCause", { step: place.step, rank: place.rank })}{" "}
      <button type="button" className="link" onClick={() => void goTo(place)}>
        {t("graph.missingCause")}
      </button>
    </p>
  );
}

/** From where a difference came to a step and rank that has no cause of its own, with the way there. */
function FromElsewhere({ shares: { came, again, divergent, causes }, first }: { shares: DivergentShares; first: Cause | undefined }) {
  const { t } = useTranslation();
  const step = useApp((state) => state.step) ?? 0;
  const rank = useApp((state) => state.rank) ?? 0;
  if (came) {
    const { node, name, peer_rank: from, peer_node: there, calls, before } = came;
    const call = calledByName(name);
    return (
      <p>
        {t("notes.cameIn", { call, rank: from })} {before === 0 ? !causes.length && t("notes.allBehind", { divergent }) : t("notes.before", { count: before })}{" "}
        {calls > 1 && t("notes.cameInMore", { count: calls - 1 })}{" "}
        <button type="button" className="link" onClick={() => void goTo({ step, rank, node })}>
          {t("notes.goToCall", { call })}
        </button>{" "}
        <button type="button" className="link" onClick={() => void goTo({ step, rank: from, node: there })}>
          {t("details.jump", { rank: from })}
        </button>
      </p>
    );
  }
  if (again) {
    const call = calledByName(again.name);
    return (
      <p>
        {t(sameCauseKey(again), { call, step: again.step })}{" "}
        <button type="button" className="link" onClick={() => void goTo({ step, rank, node: again.node })}>
          {t("notes.goToCall", { call })}
        </button>{" "}
        <button type="button" className="link" onClick={() => void goTo({ step: again.step, rank, node: again.first })}>
          {t("graph.missingCause")}
        </button>
      </p>
    );
  }
  const place = first && placeOf(first);
  return (
    <p>
      {t("notes.noCauseHere")}{" "}
      {place && (
        <>
          {t("notes.firstCause", { step: place.step, rank: place.rank })}{" "}
          <button type="button" className="link" onClick={() => void goTo(place)}>
            {t("graph.missingCause")}
          </button>
        </>
      )}
    </p>
  );
}
