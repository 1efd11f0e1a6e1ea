/* One sentence: where two runs part, or that they do not. */

import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";

import { trendPartingQuery } from "../../api/trends";
import type { TrendDecision } from "../../api/messages";
import { APART } from "../../graph/octaves";
import { claimEvidence, claimGaps, claimHeadline } from "../../i18n/claim";
import { openTo, seriesOf, useTrends } from "../../state/trends";
import { besideTexts, withoutZeros } from "../../text/numbers";
import { OtherSeries } from "./OtherSeries";
import { useSeriesName } from "./seriesname";

export function Parting({ run, other }: { run: string; other: string }) {
  const { t } = useTranslation();
  const named = useSeriesName();
  const { open, set } = useTrends();
  const { data, isError, error } = useQuery(trendPartingQuery(run, other));
  if (isError) return <p className="trend-parting warning">{error.message}</p>;
  if (!data) return <p className="trend-parting muted">{t("loading")}</p>;
  const { verdict, step, target, steps, delta, band, claim, rank } = data;
  if (verdict !== "parts" || target === null || step === null) {
    const apart = delta >= APART ? t("trends.parting.apartZero") : t("trends.parting.apart", { delta });
    const lines = [claimHeadline(t, claim, "trends"), ...claimEvidence(t, claim), ...claimGaps(t, claim)];
    if (steps > 0) lines.push(t("trends.parting.over", { steps }));
    if (verdict === "noise") lines.push(apart);
    return (
      <p className="trend-parting" role="status">
        {lines.join(t("claim.semicolon"))}
      </p>
    );
  }
  const { weight, factor } = data;
  // What a weight explains leads to the weight.
  const [kind, name] = weight ?? target;
  const what = weight === null ? named(target) : t("trends.parting.weight", { weight: named(weight), factor, target: named(target) });
  const { missing, decided } = data;
  const facts = { step, target: what, count: data.count - (weight === null ? 1 : 2), band };
  const go = ([of, at]: readonly [string, string]): void => set({ step, kind: of, chosen: [seriesOf(of, at)], open: openTo(open ?? [], at) });
  function sentence(): string {
    if (decided) return decision(decided);
    if (missing) return t(missing === "ours" ? "trends.parting.missingHere" : "trends.parting.missingThere", facts);
    return band === 0 ? t("trends.parting.partsEqual", facts) : t("trends.parting.partsNoise", facts);
  }
  function decision({ target: [of], own, other: theirs }: TrendDecision): string {
    if (own !== null && theirs !== null) {
      const [here, there] = besideTexts(own, theirs).map(withoutZeros);
      return t("trends.parting.decided", { ...facts, own: here, other: there });
    }
    const side = own === null ? "there" : "here";
    const what = of === "skipped" || of === "clip" ? of : "set";
    return t(`trends.parting.alone.${side}.${what}`, facts);
  }
  return (
    <div className="trend-parting" role="status">
      <button type="button" className="link" onClick={() => go([kind, name])}>
        {sentence()}
      </button>
      {rank !== null && <span>{` ${t("trends.parting.onRank", { rank })}`}</span>}
      {data.others.length > 0 && <OtherSeries label={t("trends.parting.others")} count={data.count - 1} others={data.others} go={go} />}
    </div>
  );
}
