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
const LOGARITHMIC = { distr: 3 as uPlot.Scale["distr"] } as { distr: NonNullable<uPlot.Scale["distr"]> };

interface Props {
  label: string;
  x: number[];
  series: PlotSeries[];
  /** Scale of x; log for errors. */
  log?: boolean;
  /** Fixed range of y. */
  range?: [number, number];
  height: number;
  width: number;
}

export default function Plot({ label, x, series, log = false, range, height, width }: Props) {
  const frame = useRef<HTMLDivElement>(null);
  const theme = usePreferences((state) => state.theme);
  useEffect(() => {
    if (!frame.current) return undefined;
    const options = optionsOf(series, log, range, width, height);
    const plot = new uPlot(options, [x, ...series.map(({ values }) => values)], frame.current);
    return () => plot.destroy();
  }, [x, series, log, range, height, width, theme]);
  return <div ref={frame} role="img" aria-label={label} className="plot" />;
}

function optionsOf(
  series: PlotSeries[],
  log: boolean,
  range: [number, number] | undefined,
  width: number,
  height: number,
): uPlot.Options {
  const ink = colour("muted");
  const axis = { stroke: ink, grid: { stroke: colour("line"), width: 1 }, ticks: { show: false } };
  return {
    width,
    height,
    legend: { show: series.length > 1 },
    cursor: { drag: { x: false, y: false } },
    scales: { x: { time: false, ...(log ? LOGARITHMIC : {}) }, y: range ? { range } : {} },
    axes: [{ ...axis, size: 30 }, { ...axis, size: 54 }],
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
