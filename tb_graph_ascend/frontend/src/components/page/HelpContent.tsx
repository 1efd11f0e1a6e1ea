/* All keys, grouped by what they are for. */

import { useTranslation } from "react-i18next";

import { BoxKeys } from "../boxes/BoxKeys";
import { LegendKeys, LevelKeys } from "../diff/LegendKeys";

const GROUPS = {
  go: [
    ["start", "F"],
    ["next", "N  P"],
    ["search", "/  Ctrl+K"],
    ["hits", "Enter  Shift+Enter"],
    ["step", "H  L"],
    ["rank", "K  J"],
    ["tabs", "1 … 5"],
    ["details", "D"],
  ],
  graph: [
    ["move", "↑ ↓ ← →  PgUp PgDn  Home End"],
    ["toggle", "Enter"],
    ["expand", "E"],
    ["collapse", "C"],
    ["partner", "T"],
    ["way", "G"],
  ],
  view: [
    ["zoom", "+  −  0"],
    ["wheel", "Ctrl+Wheel"],
    ["pan", "Wheel  Shift+↑↓"],
    ["boxes", "V"],
    ["fold", "B"],
    ["overflow", "O"],
    ["tip", "I"],
    ["help", "?"],
    ["escape", "Esc"],
  ],
  edit: [
    ["pick", "M"],
    ["accept", "A"],
    ["rebuild", "R"],
    ["undo", "Ctrl+Z  Ctrl+Shift+Z"],
  ],
} as const;

export function HelpContent() {
  const { t } = useTranslation();
  return (
    <div className="help">
      {Object.entries(GROUPS).map(([group, keys]) => (
        <section key={group}>
          <h3>{t(`help.groups.${group}`)}</h3>
          <dl>
            {keys.map(([name, shown]) => (
              <div key={name}>
                <dt>
                  {shown.split("  ").map((key) => (
                    <kbd key={key}>{key.replace("Wheel", t("help.wheelKey"))}</kbd>
                  ))}
                </dt>
                <dd>{t(`help.keys.${name}`)}</dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
      <section className="wide">
        <h3>{t("help.score")}</h3>
        <p>{t("score.help")}</p>
      </section>
      <section className="wide">
        <h3>{t("help.query")}</h3>
        <p className="lines">{t("search.language")}</p>
      </section>
      <section>
        <h3>{t("help.rails")}</h3>
        <LegendKeys />
      </section>
      <section>
        <h3>{t("help.boxes")}</h3>
        <BoxKeys comparison />
      </section>
      <section>
        <h3>{t("help.levels")}</h3>
        <LevelKeys />
      </section>
    </div>
  );
}
