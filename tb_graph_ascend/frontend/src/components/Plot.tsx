/* A chart by uPlot in the theme's colours; loaded only when a picture is looked at. */

import { useEffect, useRef } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";

import { usePreferences } from "../state/preferences";

export interface PlotSeries {
  label: string;
  /** Name of a colour of the theme. */
  colour: string;
  values: (number | null)[];
  /** Steps with a filled area: a histogram. */
  stepped?: boolean;
}

/** uPlot declares its scale kinds as an ambient enum, whose members have no value at run time. */
const LOGARITHMIC = JSON.parse('{"distr": 3}') as Pick<uPlot.Scale, "distr">;

interface Props {
  label: string;
  x: number[];
  series: PlotSeries[];
  /** Scale of x; log for errors. */
  log?: boolean;
  /** Ticks at whole numbers only. */
  integers?: boolean;
  /** Fixed range of y. */
  range?: [number, number];
  height: number;
  width: number;
}

type Look = Pick<Props, "series" | "log" | "integers" | "width" | "height"> & {
  range: [number, number] | undefined;
};

const WHOLE = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 10_000, 100_000, 1_000_000];

export default function Plot({ label, x, series, log = false, integers = false, range, height, width }: Props) {
  const frame = useRef<HTMLDivElement>(null);
  const theme = usePreferences((state) => state.theme);
  useEffect(() => {
    if (!frame.current) return undefined;
    const options = optionsOf({ series, log, integers, range, width, height });
    const plot = new uPlot(options, [x, ...series.map(({ values }) => values)], frame.current);
    return () => plot.destroy();
  }, [x, series, log, integers, range, height, width, theme]);
  return <div ref={frame} role="img" aria-label={label} className="plot" />;
}

function optionsOf({ series, log, integers, range, width, height }: Look): uPlot.Options {
  const ink = colour("muted");
  const axis = { stroke: ink, grid: { stroke: colour("line"), width: 1 }, ticks: { show: false } };
  return {
    width,
    height,
    legend: { show: series.length > 1, live: false },
    cursor: { drag: { x: false, y: false } },
    scales: { x: { time: false, ...(log ? LOGARITHMIC : {}) }, y: range ? { range } : {} },
    axes: [{ ...axis, size: 30, ...(integers ? { incrs: WHOLE } : {}) }, { ...axis, size: 54 }],
    series: [{}, ...series.map(styleOf)],
  };
}

function styleOf({ label, colour: name, stepped }: PlotSeries): uPlot.Series {
  const stroke = colour(name);
  const paths = stepped ? uPlot.paths.stepped?.({ align: 1 }) : undefined;
  return {
    label,
    stroke,
    width: 1.5,
    points: { show: !stepped, size: 6 },
    ...(stepped ? { fill: `color-mix(in srgb, ${stroke} 18%, transparent)` } : {}),
    ...(paths ? { paths } : {}),
  };
}

function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}
