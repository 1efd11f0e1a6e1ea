/* Histograms of both sides and of the error, and where the error sits, of one dumped tensor. */

import { useQuery } from "@tanstack/react-query";
import { Suspense, lazy, useMemo, useState } from "react";
import { useTranslation } from "react-i18next";

import { isServed } from "../../api/client";
import { pictureQuery } from "../../api/queries";
import type { Histogram, NodeDetails, Picture, ValuePair } from "../../api/types";
import { shortNumber } from "../../text/numbers";
import { useDatabase } from "../../hooks/useDatabase";
import { keyOf, nameOf } from "../../state/columns";
import { useApp } from "../../state/store";
import { firstDiffering } from "../../state/worstfirst";
import { FailureNotice } from "../parts/FailureNotice";
import { HeatMap } from "../ranks/HeatMap";
import { SeriesKeys } from "./SeriesKeys";

const Plot = lazy(() => import(/* webpackChunkName: "plot" */ "./Plot"));

export function PicturesPanel({ details }: { details: NodeDetails }) {
  // What was chosen of one node says nothing about the next.
  return <PicturesOf key={details.node.id} details={details} />;
}

function PicturesOf({ details }: { details: NodeDetails }) {
  const { t } = useTranslation();
  const { data } = useDatabase();
  const values = details.values.filter((value) => (value.problem ?? value.benchmark)?.shape != null);
  const [chosen, setChosen] = useState<string | null>(null);
  const value = values.find((one) => keyOf(one) === chosen) ?? firstDiffering(values);
  if (data && data.task !== "tensor") {
    return <p className="message">{t("pictures.tensorOnly")}</p>;
  }
  if (!isServed()) return <p className="message">{t("offline.pictures")}</p>;
  if (!value) return <p className="message">{t("details.noValues")}</p>;
  return (
    <div className="scroll pictures">
      <label>
        {t("details.value")}{" "}
        <select value={keyOf(value)} onChange={({ target }) => setChosen(target.value)}>
          {values.map((one) => (
            <option key={keyOf(one)} value={keyOf(one)}>
              {nameOf(one)}
              {data?.comparison && !one.benchmark && ` · ${t("details.onlyProblem")}`}
              {data?.comparison && !one.problem && ` · ${t("details.onlyBenchmark")}`}
            </option>
          ))}
        </select>
      </label>
      <PictureOf node={details.node.id} value={value} />
    </div>
  );
}

function PictureOf({ node, value }: { node: number; value: ValuePair }) {
  const { t } = useTranslation();
  const db = useApp((state) => state.db);
  const id = (value.problem ?? value.benchmark)?.id ?? 0;
  const answer = useQuery({ ...pictureQuery(db ?? "", node, id), enabled: db !== null });
  if (answer.isError) {
    return <FailureNotice error={answer.error} retry={() => void answer.refetch()} />;
  }
  if (!answer.data) return <p className="message">{t("loading")}</p>;
  return <PictureRow picture={answer.data} />;
}

function PictureRow({ picture }: { picture: Picture }) {
  const { t } = useTranslation();
  const { problem, benchmark, error, heat } = picture;
  return (
    <Suspense fallback={<p className="message">{t("loading")}</p>}>
      <div className="picture-row">
        {(problem ?? benchmark) && (
          <Distribution
            title={t("pictures.values")}
            parts={[
              { histogram: problem, label: t("side.problem"), colour: "problem" },
              { histogram: benchmark, label: t("side.benchmark"), colour: "benchmark" },
            ]}
          />
        )}
        {error && (
          <Distribution
            title={t("pictures.error")}
            parts={[{ histogram: error, label: t("pictures.error"), colour: "accent" }]}
          />
        )}
        {heat && <HeatMap heat={heat} />}
      </div>
    </Suspense>
  );
}

interface Part {
  histogram: Histogram | null;
  label: string;
  colour: string;
}

function Distribution({ title, parts }: { title: string; parts: Part[] }) {
  const { t } = useTranslation();
  const first = parts.find(({ histogram }) => histogram)?.histogram;
  const series = useMemo(
    () =>
      parts.flatMap(({ histogram, label, colour }) =>
        histogram ? [{ label, colour, values: closed(histogram.counts), stepped: true }] : [],
      ),
    // The texts and colours do not change with the picture.
    // eslint-disable-next-line react-hooks/exhaustive-deps
    [first],
  );
  if (!first) return null;
  return (
    <figure>
      <figcaption>
        {title}
        {series.length > 1 && <SeriesKeys series={series} />}
        {series.length === 1 && (
          <span className="muted range">
            {rangeOf(first)}
          </span>
        )}
      </figcaption>
      {first.counts.length > 0 && (
        <Plot
          label={title}
          x={first.edges}
          series={series}
          log={first.scale === "log"}
          integers={first.whole}
        />
      )}
      {parts.map(({ histogram, label }) => (
        <p key={label} className="muted">
          {histogram && histogram.zeros > 0 && t("pictures.equal", { count: histogram.zeros, equal: histogram.zeros.toLocaleString(), all: elementsOf(histogram) })}{" "}
          {histogram &&
            histogram.nonfinite > 0 &&
            t("pictures.nonfinite", { count: histogram.nonfinite, label })}
        </p>
      ))}
    </figure>
  );
}

/** The smallest and largest number that there are. */
function rangeOf({ least, most }: Histogram): string {
  if (least === null || most === null) return "";
  return least === most ? shortNumber(least) : `${shortNumber(least)} … ${shortNumber(most)}`;
}

function elementsOf({ counts, zeros, nonfinite }: Histogram): string {
  return (counts.reduce((sum, one) => sum + one, 0) + zeros + nonfinite).toLocaleString();
}

/** The last count once more, so that the last bin has a width. */
function closed(counts: number[]): number[] {
  return [...counts, counts[counts.length - 1] ?? 0];
}
