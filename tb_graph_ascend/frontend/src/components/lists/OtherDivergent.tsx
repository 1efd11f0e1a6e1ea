/* The divergent nodes of the step and rank on screen that go back to none of the causes: with those of the
 * causes they add up to the count over the page. */

import { useTranslation } from "react-i18next";

import type { Cause, DivergentShares } from "../../api/types";
import { calledByName } from "../../graph/called";
import { useShares } from "../../hooks/useShares";
import { goTo } from "../../state/actions";
import { placeOf } from "../../state/places";
import { useApp } from "../../state/store";
import { LedBack } from "./LedBack";

/** `first` is the cause that is named first. */
export function OtherDivergent({ first }: { first: Cause | undefined }) {
  const { t } = useTranslation();
  const shares = useShares();
  if (!shares || shares.others === 0) return null;
  const { causes, others: count, divergent } = shares;
  return (
    <section className="not-compared">
      <h3>{t("notes.divergentHere")}</h3>
      {causes.length > 0 ? <Untraced first={first} /> : <FromElsewhere shares={shares} first={first} />}
      <LedBack cause={null} text={causes.length > 0 ? t("notes.others", { count, divergent }) : t("notes.allHere", { count })} />
    </section>
  );
}

/** Where causes are in this step too, the weights may carry what began in an earlier one. */
function Untraced({ first }: { first: Cause | undefined }) {
  const { t } = useTranslation();
  const here = useApp((state) => state.step) ?? 0;
  const place = first && placeOf(first);
  if (!place || place.step >= here) return <p>{t("notes.untraced")}</p>;
  return (
    <p>
      {t("notes.earlier", { step: place.step })} {t("notes.firstCause", { step: place.step, rank: place.rank })}{" "}
      <button type="button" className="link" onClick={() => void goTo(place)}>
        {t("graph.missingCause")}
      </button>
    </p>
  );
}

/** From where a difference came to a step and rank that has no cause of its own, with the way there. */
function FromElsewhere({ shares: { came, divergent }, first }: { shares: DivergentShares; first: Cause | undefined }) {
  const { t } = useTranslation();
  const step = useApp((state) => state.step) ?? 0;
  const rank = useApp((state) => state.rank) ?? 0;
  if (came) {
    const { node, name, peer_rank: from, peer_node: there, calls, before } = came;
    const call = calledByName(name);
    return (
      <p>
        {t("notes.cameIn", { call, rank: from })} {before === 0 ? t("notes.allBehind", { divergent }) : t("notes.before", { count: before })}{" "}
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
