/* What each mark of the rows means: rails, edges, words – the same in the legend and in the help. */

import { useTranslation } from "react-i18next";

import { BACK } from "../../graph/called";
import { OVERFLOW_SCORE } from "../../graph/appearance";
import { rampFill } from "../../graph/ramp";

const RAILS = ["flow-in", "flow-out", "rail-bad", "rail"] as const;
const MARKS = { backward: BACK, repeats: "× 3", call: "#7" };
const LEVELS = ["critical", "high", "medium"] as const;

export function LegendKeys() {
  const { t } = useTranslation();
  return (
    <dl className="legend-keys">
      {RAILS.map((rail) => (
        <div key={rail}>
          <dt>
            <i aria-hidden className="rail-key" style={{ borderColor: `var(--${rail})` }} />
          </dt>
          <dd>{t(`legend.rails.${rail}`)}</dd>
        </div>
      ))}
      <div>
        <dt>
          <i aria-hidden className="rail-key dashed" />
        </dt>
        <dd>{t("legend.rails.dashed")}</dd>
      </div>
      <div>
        <dt>
          <i aria-hidden className="swatch hatched" />
        </dt>
        <dd>{t("legend.rails.hatched")}</dd>
      </div>
      {Object.entries(MARKS).map(([name, mark]) => (
        <div key={name}>
          <dt aria-hidden>{mark}</dt>
          <dd>{t(`legend.marks.${name}`)}</dd>
        </div>
      ))}
    </dl>
  );
}

/** The overflow levels, the worst first, with what makes a node one. */
export function LevelKeys() {
  const { t } = useTranslation();
  return (
    <dl className="legend-keys">
      {LEVELS.map((level) => (
        <div key={level}>
          <dt>
            <i aria-hidden className="swatch" style={{ background: rampFill(OVERFLOW_SCORE[level]) }} />
            {t(`level.${level}`)}
          </dt>
          <dd>{t(`levelMeans.${level}`)}</dd>
        </div>
      ))}
    </dl>
  );
}
