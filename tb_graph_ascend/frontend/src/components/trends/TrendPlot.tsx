/* Lines over steps by uPlot: a band from the least to the largest value, alerts and the chosen step as
 * marks, a click chooses a step. */

import { useEffect, useRef } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";

import type { TrendLine } from "../../api/trends";
import { usePreferences } from "../../state/preferences";
import { tickText } from "../../text/numbers";
import { colourName } from "../../graph/linecolours";

/** uPlot declares its scale kinds as an ambient enum, whose members have no value at run time. */
const LOGARITHMIC = JSON.parse('{"distr": 3}') as Pick<uPlot.Scale, "distr">;

interface Props {
  label: string;
  lines: readonly TrendLine[];
  /** The same lines of the other run, dashed. */
  others?: readonly TrendLine[];
  log: boolean;
  marks: readonly number[];
  step: number | null;
  choose: (step: number) => void;
}

export default function TrendPlot({ label, lines, others = [], log, marks, step, choose }: Props) {
  const frame = useRef<HTMLDivElement>(null);
  const theme = usePreferences((state) => state.theme);
  const chosen = useRef(choose);
  const shown = useRef({ marks, step });
  const plot = useRef<uPlot | null>(null);
  useEffect(() => {
    chosen.current = choose;
    shown.current = { marks, step };
    plot.current?.redraw(false);
  }, [choose, marks, step]);
  useEffect(() => {
    const place = frame.current;
    if (!place) return undefined;
    const made = new uPlot(
      { ...sizeOf(place), ...optionsOf(lines, others, log, () => shown.current) },
      dataOf([...lines, ...others]),
      place,
    );
    plot.current = made;
    const click = (): void => {
      const at = made.cursor.idx;
      const x = at === null || at === undefined ? undefined : made.data[0][at];
      if (x !== undefined) chosen.current(x);
    };
    made.over.addEventListener("click", click);
    const watch = new ResizeObserver(() => made.setSize(sizeOf(place)));
    watch.observe(place);
    return () => {
      watch.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, [lines, others, log, theme]);
  return <div ref={frame} role="img" aria-label={label} className="plot trend-plot" />;
}

function sizeOf({ clientWidth: width, clientHeight: height }: Element) {
  return { width, height };
}

/** The steps of all lines, and for each line its largest and its least values there. */
function dataOf(lines: readonly TrendLine[]): uPlot.AlignedData {
  const steps = [...new Set(lines.flatMap((line) => line.steps))].sort((a, b) => a - b);
  const at = new Map(steps.map((step, index) => [step, index]));
  const columns = lines.flatMap((line) => {
    const high = new Array<number | null | undefined>(steps.length);
    const low = new Array<number | null | undefined>(steps.length);
    line.steps.forEach((step, index) => {
      const column = at.get(step) ?? 0;
      high[column] = line.high[index] ?? null;
      low[column] = line.low[index] ?? null;
    });
    return [high, low];
  });
  return [steps, ...columns] as uPlot.AlignedData;
}

function optionsOf(
  lines: readonly TrendLine[],
  others: readonly TrendLine[],
  log: boolean,
  shown: () => { marks: readonly number[]; step: number | null },
): Omit<uPlot.Options, "width" | "height"> {
  const ink = colour("muted");
  const axis = { stroke: ink, grid: { stroke: colour("line"), width: 1 }, ticks: { show: false } };
  const all = [...lines, ...others];
  const positive = all.every(({ low }) => low.every((value) => value === null || value > 0));
  const decades = log && positive;
  return {
    legend: { show: false },
    cursor: { drag: { x: false, y: false }, sync: { key: "trends" } },
    scales: { x: { time: false }, y: decades ? { ...LOGARITHMIC } : {} },
    axes: [{ ...axis, size: 24 }, { ...axis, size: 54, ...(decades ? { values: (_, at) => at.map(tickText) } : {}) }],
    series: [{}, ...all.flatMap((line, index) => stylesOf(placeOf(lines, line), index >= lines.length))],
    bands: all.map((line, index) => ({
      series: [1 + 2 * index, 2 + 2 * index],
      fill: `color-mix(in srgb, ${colourOf(placeOf(lines, line))} 22%, transparent)`,
    })),
    hooks: { draw: [(plot) => drawMarks(plot, shown())] },
  };
}

/** The place of a series among the lines of the first run, whose colour both runs have. */
function placeOf(lines: readonly TrendLine[], { kind, name }: TrendLine): number {
  return Math.max(0, lines.findIndex((line) => line.kind === kind && line.name === name));
}

function stylesOf(index: number, dashed: boolean): uPlot.Series[] {
  const style = { stroke: colourOf(index), points: { show: false }, ...(dashed ? { dash: [5, 4] } : {}) };
  return [
    { ...style, width: 1.5 },
    { ...style, width: 0.5 },
  ];
}

function drawMarks(plot: uPlot, { marks, step }: { marks: readonly number[]; step: number | null }): void {
  const { ctx, bbox } = plot;
  const line = (at: number, stroke: string, width: number): void => {
    const x = Math.round(plot.valToPos(at, "x", true));
    if (x < bbox.left || x > bbox.left + bbox.width) return;
    ctx.strokeStyle = stroke;
    ctx.lineWidth = width;
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
  };
  ctx.save();
  ctx.setLineDash([]);
  for (const mark of marks) line(mark, colour("cause"), 1.5);
  if (step !== null) line(step, colour("ink"), 1);
  ctx.restore();
}

function colourOf(index: number): string {
  return colour(colourName(index));
}

function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}
