/* All measures of one value: statistics of both sides, then what compares them. */

import { useTranslation } from "react-i18next";

import type { ValuePair } from "../../api/types";
import { difference } from "../../text/numbers";
import { NumberCell } from "../parts/NumberCell";

const STATISTICS = ["max", "min", "mean", "norm"] as const;

export function MeasureTable({ value }: { value: ValuePair }) {
  const measures = Object.entries(value.measures);
  return (
    <div className="measure-tables">
      <StatisticsTable value={value} />
      {measures.length > 0 && (
        <table>
          <tbody>
            {measures.map(([name, measure]) => (
              <tr key={name}>
                <th scope="row">{name}</th>
                <NumberCell value={measure} />
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </div>
  );
}

function StatisticsTable({ value: { problem, benchmark } }: { value: ValuePair }) {
  const { t } = useTranslation();
  return (
    <table>
      <thead>
        <tr>
          <th scope="col">{t("details.measure")}</th>
          <th scope="col" className="number">
            {t("details.problemValue")}
          </th>
          <th scope="col" className="number">
            {t("details.benchmarkValue")}
          </th>
          <th scope="col" className="number">
            {t("details.difference")}
          </th>
        </tr>
      </thead>
      <tbody>
        {STATISTICS.map((name) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            <NumberCell value={problem?.[name]} />
            <NumberCell value={benchmark?.[name]} />
            <NumberCell value={difference(problem?.[name] ?? null, benchmark?.[name] ?? null)} />
          </tr>
        ))}
        {(problem?.checksum ?? benchmark?.checksum ?? null) !== null && (
          <tr>
            <th scope="row">{t("details.checksum")}</th>
            <td className="number">{problem?.checksum ?? "–"}</td>
            <td className="number">{benchmark?.checksum ?? "–"}</td>
            <td />
          </tr>
        )}
      </tbody>
    </table>
  );
}
