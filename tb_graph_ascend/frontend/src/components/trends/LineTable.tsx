/* The drawn series as a table: steps down, series across; of two runs each, and how far apart. */

import { Fragment } from "react";
import { useTranslation } from "react-i18next";

import type { TrendLine } from "../../api/trends";
import { useChosenLines } from "../../hooks/useChosenLines";
import { useRunNames } from "../../hooks/useRunNames";
import { seriesOf, useTrends } from "../../state/trends";
import { apartText } from "../../text/apart";
import { besideTexts, shortNumber } from "../../text/numbers";
import { useSeriesName } from "./seriesname";

/** The values of a series by step, of both runs. */
interface Column {
  series: string;
  title: string;
  own: ReadonlyMap<number, number | null>;
  theirs: ReadonlyMap<number, number | null>;
}

export function LineTable({ run }: { run: string }) {
  const { t } = useTranslation();
  const titled = useSeriesName();
  const named = useRunNames();
  const { step, other } = useTrends();
  const { own, theirs } = useChosenLines(run);
  const columns = own.map(({ kind, name, ...line }): Column => {
    const beside = theirs.find((one) => one.kind === kind && one.name === name);
    return { series: seriesOf(kind, name), title: titled([kind, name]), own: byStep(line), theirs: byStep(beside) };
  });
  const steps = [...new Set([...own, ...theirs].flatMap((line) => line.steps))].sort((a, b) => a - b);
  return (
    <div className="trend-table">
      <table aria-label={t("trends.lines")}>
        <thead>
          <tr>
            <th scope="col" rowSpan={other === null ? 1 : 2}>
              #
            </th>
            {columns.map(({ series, title }) => (
              <th key={series} scope={other === null ? "col" : "colgroup"} colSpan={other === null ? 1 : 3}>
                {title}
              </th>
            ))}
          </tr>
          {other !== null && (
            <tr>
              {columns.map(({ series }) => (
                <Fragment key={series}>
                  <th scope="col">{named(run)}</th>
                  <th scope="col">{named(other)}</th>
                  <th scope="col">{t("trends.octaves")}</th>
                </Fragment>
              ))}
            </tr>
          )}
        </thead>
        <tbody>
          {steps.map((at) => (
            <tr key={at} aria-current={at === step || undefined}>
              <th scope="row">{at}</th>
              {columns.map((column) => (
                <Cells key={column.series} one={column.own.get(at)} other={other === null ? null : { value: column.theirs.get(at) }} />
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** A value; where there is a second run, its value and how far they are apart. */
function Cells({ one, other }: { one: number | null | undefined; other: { value: number | null | undefined } | null }) {
  const { t } = useTranslation();
  if (other === null) return <td>{shortNumber(one)}</td>;
  const [ours, theirs] = besideTexts(one, other.value);
  return (
    <>
      <td>{ours}</td>
      <td>{theirs}</td>
      <td>{apartText(t, one, other.value)}</td>
    </>
  );
}

function byStep(line: Pick<TrendLine, "steps" | "high"> | undefined): ReadonlyMap<number, number | null> {
  return new Map(line?.steps.map((at, index) => [at, line.high[index] ?? null]));
}
