/* The small multiples as a table: a row a series, the least and the largest of its steps; of two runs
 * each, and how far they are apart at most. */

import { useTranslation } from "react-i18next";

import type { TrendTile } from "../../api/trends";
import { columnOf } from "../../graph/heatpaint";
import { mostApart } from "../../graph/octaves";
import { type Values, rangeOf } from "../../graph/smalllines";
import { useRunNames } from "../../hooks/useRunNames";
import { useTrends } from "../../state/trends";
import { apartText } from "../../text/apart";
import { shortNumber } from "../../text/numbers";

interface Props {
  run: string;
  tiles: readonly TrendTile[];
  steps: readonly number[];
  /** How many further rows there are. */
  more: number;
}

export function MultiplesTable({ run, tiles, steps, more }: Props) {
  const { t } = useTranslation();
  const named = useRunNames();
  const { step, other } = useTrends();
  const at = step === null ? null : columnOf(steps, step);
  const titles = [t("trends.first"), t("trends.least"), t("trends.largest"), t("trends.last")];
  if (step !== null) titles.push(t("trends.atStep", { step }));
  const runs = other === null ? [] : [run, other];
  const shown = tiles.filter(({ row }) => row.target !== null);
  const apart = [t("trends.mostApart"), ...(step === null ? [] : [t("trends.atStep", { step })])];
  return (
    <div className="trend-multiples trend-table">
      <table aria-label={t("trends.multiples")}>
        <thead>
          {runs.length > 0 && (
            <tr>
              <th />
              {runs.map((one) => (
                <th key={one} scope="colgroup" colSpan={titles.length}>
                  {named(one)}
                </th>
              ))}
              <th scope="colgroup" colSpan={apart.length}>
                {t("trends.octaves")}
              </th>
            </tr>
          )}
          <tr>
            <th scope="col">{t("trends.kind")}</th>
            {[...titles, ...(other === null ? [] : [...titles, ...apart])].map((title, index) => (
              <th key={index} scope="col">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {shown.map(({ row, values, other: theirs }) => {
            const [most, beside] = mostApart(values, theirs) ?? [null, null];
            const numbers = [...summed(values, at), ...(other === null ? [] : summed(theirs, at))];
            return (
              <tr key={row.target}>
                <th scope="row">{row.name}</th>
                {numbers.map((value, index) => (
                  <td key={index}>{shortNumber(value)}</td>
                ))}
                {other !== null && <td>{apartText(t, most, beside)}</td>}
                {other !== null && at !== null && <td>{apartText(t, values[at], theirs[at])}</td>}
              </tr>
            );
          })}
        </tbody>
      </table>
      {more > 0 && <p className="muted pad">{t("trends.moreRows", { count: more })}</p>}
    </div>
  );
}

/** The first, least, largest and last number of a line, and the one in a column where one is asked for. */
function summed(values: Values, at: number | null): (number | null | undefined)[] {
  const range = rangeOf([values]);
  const known = values.filter((value) => value !== null);
  return [known[0], range?.low, range?.high, known.at(-1), ...(at === null ? [] : [values[at]])];
}
