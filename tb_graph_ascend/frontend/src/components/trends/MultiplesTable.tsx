/* The small multiples as a table: a row a series, the least and the largest of its steps. */

import { useTranslation } from "react-i18next";

import type { TrendTile } from "../../api/trends";
import { columnOf } from "../../graph/heatpaint";
import { rangeOf } from "../../graph/smalllines";
import { useTrends } from "../../state/trends";
import { shortNumber } from "../../text/numbers";

interface Props {
  tiles: readonly TrendTile[];
  steps: readonly number[];
  /** How many further rows there are. */
  more: number;
}

export function MultiplesTable({ tiles, steps, more }: Props) {
  const { t } = useTranslation();
  const step = useTrends((state) => state.step);
  const shown = tiles.filter(({ row }) => row.target !== null);
  return (
    <div className="trend-multiples trend-table">
      <table aria-label={t("trends.multiples")}>
        <thead>
          <tr>
            <th scope="col">{t("trends.kind")}</th>
            <th scope="col">{t("trends.first")}</th>
            <th scope="col">{t("trends.least")}</th>
            <th scope="col">{t("trends.largest")}</th>
            <th scope="col">{t("trends.last")}</th>
            {step !== null && <th scope="col">{t("trends.atStep", { step })}</th>}
          </tr>
        </thead>
        <tbody>
          {shown.map(({ row, values }) => {
            const range = rangeOf([values]);
            const known = values.filter((value) => value !== null);
            return (
              <tr key={row.name}>
                <th scope="row">{row.name}</th>
                {[known[0], range?.low, range?.high, known.at(-1)].map((value, index) => (
                  <td key={index}>{shortNumber(value)}</td>
                ))}
                {step !== null && <td>{shortNumber(values[columnOf(steps, step)])}</td>}
              </tr>
            );
          })}
        </tbody>
      </table>
      {more > 0 && <p className="muted pad">{t("trends.moreRows", { count: more })}</p>}
    </div>
  );
}
