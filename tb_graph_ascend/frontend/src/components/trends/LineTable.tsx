/* The drawn series as a table: steps down, series across. */

import { useQueries } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";

import { trendLineQuery } from "../../api/trends";
import { partsOf, useTrends } from "../../state/trends";
import { shortNumber } from "../../text/numbers";
import { useSeriesName } from "./seriesname";

export function LineTable({ run }: { run: string }) {
  const { t } = useTranslation();
  const named = useSeriesName();
  const { chosen, statistic, first, last, step } = useTrends();
  const lines = useQueries({
    queries: chosen.map(partsOf).map(({ kind, name }) => trendLineQuery(run, kind, name, statistic, { first, last })),
    combine: (answers) => answers.flatMap(({ data }) => data ?? []),
  });
  const steps = [...new Set(lines.flatMap((line) => line.steps))].sort((a, b) => a - b);
  const values = lines.map((line) => new Map(line.steps.map((at, index) => [at, line.high[index]])));
  return (
    <div className="trend-table">
      <table aria-label={t("trends.lines")}>
        <thead>
          <tr>
            <th scope="col">#</th>
            {lines.map(({ kind, name }) => (
              <th key={`${kind}/${name}`} scope="col">
                {named([kind, name])}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {steps.map((at) => (
            <tr key={at} aria-current={at === step || undefined}>
              <th scope="row">{at}</th>
              {values.map((line, index) => {
                const value = line.get(at);
                return <td key={index}>{typeof value === "number" ? shortNumber(value) : "–"}</td>;
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
