/* The divergent nodes of the step and rank on screen that go back to none of the causes: with those of the
 * causes they add up to the count over the page. */

import { useTranslation } from "react-i18next";

import { useShares } from "../../hooks/useShares";
import { LedBack } from "./LedBack";

export function OtherDivergent() {
  const { t } = useTranslation();
  const shares = useShares();
  if (!shares || shares.others === 0) return null;
  const { causes, others: count, divergent } = shares;
  return (
    <section className="not-compared">
      <h3>{t("notes.divergentHere")}</h3>
      <p>{t(causes.length > 0 ? "notes.untraced" : "notes.noCauseHere")}</p>
      <LedBack cause={null} text={t("notes.others", { count, divergent })} />
    </section>
  );
}
