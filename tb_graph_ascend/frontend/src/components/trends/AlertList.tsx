/* The alerts, one a cause; each leads to its step and series. */

import { useTranslation } from "react-i18next";

import type { TrendAlert } from "../../api/trends";
import { openTo, seriesOf, useTrends } from "../../state/trends";
import { OtherSeries } from "./OtherSeries";
import { useSeriesName } from "./seriesname";

const DRAWN = new Set(["actv", "actv_grad", "grad", "exp_avg", "exp_avg_sq", "param", "ratio"]);

export function AlertList({ alerts }: { alerts: readonly TrendAlert[] }) {
  const { t } = useTranslation();
  const named = useSeriesName();
  const { step, open, set } = useTrends();
  const go = (at: number, [kind, name]: TrendAlert["target"]): void =>
    set({ step: at, chosen: [seriesOf(kind, name)], ...(DRAWN.has(kind) ? { kind, open: openTo(open ?? [], name) } : {}) });
  const recurrence = ({ again, every }: TrendAlert): string => {
    if (every !== null) return ` (${t("trends.every", { every, times: again.length + 1 })})`;
    return again.length > 0 ? ` (${t("trends.again", { steps: again.join(", ") })})` : "";
  };
  return (
    <section aria-label={t("trends.alerts")}>
      <h2>{t("trends.alerts")}</h2>
      {alerts.length === 0 && <p className="muted">{t("trends.noAlert")}</p>}
      <ol className="trend-alerts">
        {alerts.map((alert) => (
          <li key={`${String(alert.step)}-${String(alert.rank)}-${alert.kind}-${alert.target.join("/")}`}>
            <button type="button" aria-pressed={step === alert.step} onClick={() => go(alert.step, alert.target)}>
              <b>{alert.step}</b>{" "}
              {t(`trends.alert.${alert.kind}`, {
                target: named(alert.target),
                factor: alert.factor ?? 0,
                ranks: alert.ranks.join(", "),
              })}
              {recurrence(alert)}
            </button>
            {alert.count > 1 && (
              <OtherSeries
                label={t("trends.more", { count: alert.count - 1 })}
                count={alert.count - 1}
                others={alert.others}
                go={(target) => go(alert.step, target)}
              />
            )}
          </li>
        ))}
      </ol>
    </section>
  );
}
