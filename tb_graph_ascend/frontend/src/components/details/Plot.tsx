/* A chart by uPlot in the theme's colours; loaded only when a picture is looked at. */

import { useEffect, useRef } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";

import { usePreferences } from "../../state/preferences";
import { tickText } from "../../text/numbers";

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
}

type Look = Pick<Props, "series" | "log" | "integers"> & {
  range: [number, number] | undefined;
};

const WHOLE = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 10_000, 100_000, 1_000_000];

export default function Plot({ label, x, series, log = false, integers = false, range }: Props) {
  const frame = useRef<HTMLDivElement>(null);
  const theme = usePreferences((state) => state.theme);
  useEffect(() => {
    const place = frame.current;
    if (!place) return undefined;
    const options = { ...sizeOf(place), ...optionsOf({ series, log, integers, range }) };
    const plot = new uPlot(options, [x, ...series.map(({ values }) => values)], place);
    const watch = new ResizeObserver(() => plot.setSize(sizeOf(place)));
    watch.observe(place);
    return () => {
      watch.disconnect();
      plot.destroy();
    };
  }, [x, series, log, integers, range, theme]);
  return <div ref={frame} role="img" aria-label={label} className="plot" />;
}

function sizeOf({ clientWidth: width, clientHeight: height }: Element) {
  return { width, height };
}

function optionsOf({ series, log, integers, range }: Look): Omit<uPlot.Options, "width" | "height"> {
  const ink = colour("muted");
  const axis = { stroke: ink, grid: { stroke: colour("line"), width: 1 }, ticks: { show: false } };
  return {
    legend: { show: false },
    cursor: { drag: { x: false, y: false } },
    // The ends are those of the bins: rounded up to decades, all bars might be one thin line.
    scales: { x: { time: false, ...(log ? { ...LOGARITHMIC, range: ends } : {}) }, y: heightsOf(series, range) },
    axes: [axisOfX(axis, log === true, integers === true), { ...axis, size: 50 }],
    series: [{}, ...series.map(styleOf)],
  };
}

/** The heights of bars begin at 0, for they are compared by their length. */
function heightsOf(series: Look["series"], range: Look["range"]): uPlot.Scale {
  if (range) return { range };
  return series.some(({ stepped }) => stepped) ? { range: (_, __, high) => [0, high > 0 ? high * ABOVE : 1] } : {};
}

/** How much room bars have above the highest. */
const ABOVE = 1.06;

function axisOfX(axis: uPlot.Axis, log: boolean, integers: boolean): uPlot.Axis {
  const placed = { ...axis, size: 26 };
  if (integers) return { ...placed, incrs: WHOLE };
  // Only decades: lines between them would hide the bars, and 0.0001 must not read as 0.
  if (log) return { ...placed, splits: (_, __, low, high) => decades(low, high), values: (_, at) => at.map(tickText) };
  return placed;
}

const ends = (_: uPlot, low: number, high: number): [number, number] => [low, high];

function decades(low: number, high: number): number[] {
  const first = Math.ceil(Math.log10(low));
  const last = Math.floor(Math.log10(high));
  // Within a decade the ends say more than its one round number.
  if (last - first < 1) return last === first ? [low, 10 ** first, high] : [low, high];
  const stride = Math.max(1, Math.ceil((last - first + 1) / 8));
  const count = Math.max(0, Math.floor((last - first) / stride) + 1);
  return Array.from({ length: count }, (_, index) => 10 ** (first + index * stride));
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
