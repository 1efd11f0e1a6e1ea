/* All measures of one value: how its score was made, statistics of both sides, what else compares them. */

import { useTranslation } from "react-i18next";

import type { Measure, ValuePair } from "../../api/types";
import { wordOf } from "../../i18n/reason";
import { difference } from "../../text/numbers";
import { scoreSentence } from "../../text/scores";
import { NumberCell } from "../parts/NumberCell";

const STATISTICS = ["max", "min", "mean", "norm"] as const;
/** What the table of statistics shows already: differences, and those by the benchmark's own. */
const SHOWN = /^(?:Max|Min|Mean|Norm) diff$|^(?:Min|Mean|Norm)RelativeErr$/;

export function MeasureTable({ value }: { value: ValuePair }) {
  const { t } = useTranslation();
  const told = scoreSentence(t, value);
  return (
    <>
      {told !== null && <p className="score-told">{told}</p>}
      <div className="measure-tables">
        <StatisticsTable value={value} />
        <OtherMeasures measures={value.measures} />
      </div>
    </>
  );
}

/** Of whole tensors `MaxRelativeErr` is of the elements; with statistics it is that of the maximum. */
function ofStatistics(measures: ValuePair["measures"], name: string): boolean {
  return SHOWN.test(name) || (name === "MaxRelativeErr" && "Max diff" in measures);
}

function OtherMeasures({ measures }: Pick<ValuePair, "measures">) {
  const { t } = useTranslation();
  const others = Object.entries(measures).filter(([name, measure]) => measure !== null && !ofStatistics(measures, name));
  if (others.length === 0) return null;
  return (
    <table>
      <tbody>
        {others.map(([name, measure]) => (
          <tr key={name}>
            <th scope="row" title={name}>
              {wordOf(t, "measures", name)}
            </th>
            <NumberCell value={measure} />
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function StatisticsTable({ value: { problem, benchmark, measures } }: { value: ValuePair }) {
  const { t } = useTranslation();
  const heads = ["problemValue", "benchmarkValue", "difference", "ofBenchmark"] as const;
  return (
    <table>
      <thead>
        <tr>
          <th scope="col">{t("details.measure")}</th>
          {heads.map((head) => (
            <th key={head} scope="col" className="number">
              {t(`details.${head}`)}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {STATISTICS.map((name) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            <NumberCell value={problem?.[name]} beside={benchmark?.[name]} />
            <NumberCell value={benchmark?.[name]} beside={problem?.[name]} />
            <NumberCell value={difference(problem?.[name] ?? null, benchmark?.[name] ?? null)} />
            <NumberCell value={relativeOf(measures, name)} />
          </tr>
        ))}
        {(problem?.checksum ?? benchmark?.checksum ?? null) !== null && (
          <tr>
            <th scope="row">{t("details.checksum")}</th>
            <td className="number">{problem?.checksum ?? "–"}</td>
            <td className="number">{benchmark?.checksum ?? "–"}</td>
            <td colSpan={2} />
          </tr>
        )}
      </tbody>
    </table>
  );
}

function relativeOf(measures: ValuePair["measures"], name: (typeof STATISTICS)[number]): Measure {
  const key = `${name[0]?.toUpperCase() ?? ""}${name.slice(1)}RelativeErr`;
  return ofStatistics(measures, key) ? (measures[key] ?? null) : null;
}
