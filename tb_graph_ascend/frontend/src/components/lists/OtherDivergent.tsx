/* The divergent nodes of the step and rank on screen that go back to none of the causes: with those of the
 * causes they add up to the count over the page. */

import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";

import { countQuery } from "../../api/queries";
import type { Answer, Cause } from "../../api/types";
import { useCurrentPair } from "../../hooks/useDatabase";
import { UNTRACED, listNodes } from "../../state/listing";
import { useApp } from "../../state/store";

export function OtherDivergent({ answer: { causes, cause_count: count } }: { answer: Answer }) {
  const { t } = useTranslation();
  const pair = useCurrentPair();
  const db = useApp((state) => state.db);
  const told = causes.every(({ led_back: count }) => count !== null);
  const asked = db !== null && pair !== undefined && told && pair.divergent > 0;
  const { data } = useQuery({
    ...countQuery(db ?? "", pair?.step ?? 0, pair?.rank ?? 0, UNTRACED),
    enabled: asked,
  });
  if (!asked || !data) return null;
  const untraced = data.total;
  // Of causes or places that were left out nobody knows here how much goes back to them.
  const whole = causes.length === count && causes.every(({ places, place_count: all }) => places.length === all);
  const byWay = whole ? pair.divergent - untraced - ledBackHere(causes, pair) : 0;
  if (untraced + byWay === 0) return null;
  return (
    <section className="not-compared">
      <h3>{t("notes.divergentHere")}</h3>
      <ul>
        {untraced > 0 && (
          <li>
            {t("notes.untraced", { count: untraced, divergent: pair.divergent })}{" "}
            <button type="button" className="link" onClick={() => listNodes(UNTRACED)}>
              {t("answer.list")}
            </button>
          </li>
        )}
        {byWay > 0 && <li>{t("notes.byWay", { count: byWay, divergent: pair.divergent })}</li>}
      </ul>
    </section>
  );
}

function ledBackHere(causes: readonly Cause[], { step, rank }: { step: number; rank: number }): number {
  const places = causes.flatMap((cause) => cause.places);
  return places.reduce((sum, one) => sum + (one.step === step && one.rank === rank ? (one.led_back ?? 0) : 0), 0);
}
