/* The heat map: names of modules beside a canvas of one pixel a cell, scaled to rows of equal height;
 * only a page of rows around what is in view is asked for. */

import { useQuery } from "@tanstack/react-query";
import { type KeyboardEvent, type PointerEvent, memo, useCallback, useEffect, useMemo, useRef, useState } from "react";
import type { TFunction } from "i18next";
import { useTranslation } from "react-i18next";

import { type RankValue, type TrendHeat, trendCellQuery, trendHeatQuery, trendPartingQuery } from "../../api/trends";
import { ABSENT, LEAST, bytesOf, columnOf, factorOf, paletteOf, pixelsOf, valueOf, wordOf } from "../../graph/heatpaint";
import { bringIntoView, useChosenRow } from "../../hooks/useChosenRow";
import { usePreferences } from "../../state/preferences";
import { drawnFirst, partsOf, rangeAround, rowPressed, seriesOf, useTrends, zoomedSteps } from "../../state/trends";
import { placeOf } from "../../graph/stepticks";
import { HeatAxis } from "./HeatAxis";
import { HeatNames } from "./HeatNames";
import { apartSentence } from "../../text/apart";
import { heatColours } from "./colours";
import { kindTitle } from "./seriesname";

const ROW_PX = 16;
const PAGE = 60;
const AHEAD = 180;
const MOST_COLUMNS = 1500;

interface Props {
  run: string;
  kind: string;
  open: readonly string[];
  marks: readonly number[];
}

export function HeatCanvas({ run, kind, open, marks }: Props) {
  const { t } = useTranslation();
  const { other, statistic, first, last, absolute, step, chosen, set } = useTrends();
  const [page, setPage] = useState(0);
  const offset = Math.max(0, (page - 1) * PAGE);
  const wish = {
    ...{ kind, statistic, first, last, other, absolute, offset },
    ...{ columns: MOST_COLUMNS, open: open.join(","), limit: AHEAD },
  };
  const { data, isPlaceholderData } = useQuery(trendHeatQuery(run, wish));
  const cells = useMemo(() => (data ? bytesOf(data.cells) : new Uint8Array()), [data]);
  const [cursor, setCursor] = useState(0);
  const exact = useExact(run);
  const parted = useParted(run);
  const frame = useRef<HTMLDivElement>(null);
  const chosenHere = useChosenRow(isPlaceholderData ? undefined : data?.rows, data?.offset ?? 0, kind, (place) => {
    setCursor(place);
    if (frame.current) bringIntoView(frame.current, place * ROW_PX, ROW_PX);
  });
  // The same functions as long as the rows are the same: neither step nor line draws the names anew.
  const act = useCallback(
    (at: number): void => {
      const of = data?.rows[at - data.offset];
      if (of === undefined) return;
      set(rowPressed(of, { kind, open, chosen: useTrends.getState().chosen }));
      chosenHere();
    },
    [data, open, kind, set, chosenHere],
  );
  const press = useCallback(
    (at: number): void => {
      setCursor(at);
      act(at);
    },
    [act],
  );
  if (!data) return <p className="splash">{t("loading")}</p>;
  if (data.total === 0) return <p className="muted pad">{t("trends.empty")}</p>;
  const columns = data.steps.length;
  const column = step === null ? -1 : columnOf(data.steps, step);
  const row = Math.min(Math.max(0, cursor), data.total - 1);
  const partedAt = parted === null ? null : placeOf(data.steps, parted);

  const said = sentenceOf(t, data, cells, row - data.offset, column, other !== null, (target) => exact(kind, target, data.steps[column]));
  const pointed = (event: PointerEvent<HTMLElement>): void => {
    const box = event.currentTarget.getBoundingClientRect();
    const at = Math.floor(((event.clientX - box.left) / box.width) * columns);
    const line = data.offset + Math.floor((event.clientY - box.top) / ROW_PX);
    const of = data.rows[line - data.offset];
    setCursor(line);
    if (of?.target) {
      const series = seriesOf(kind, of.target);
      set({ step: data.steps[at] ?? null, chosen: drawnFirst(chosen, series) });
      chosenHere();
    } else set({ step: data.steps[at] ?? null });
  };
  const pressed = (event: KeyboardEvent): void => {
    const far = event.shiftKey ? 10 : 1;
    const move = { ArrowUp: -far, ArrowDown: far }[event.key];
    const along = { ArrowLeft: -far, ArrowRight: far }[event.key];
    if (move !== undefined) setCursor(Math.min(Math.max(0, row + move), data.total - 1));
    else if (along !== undefined) {
      const at = Math.min(Math.max(0, column + along), columns - 1);
      set({ step: data.steps[at] ?? null });
    } else if (event.key === "Enter" || event.key === " ") act(row);
    else if (event.key === "+" || event.key === "=") zoom(data, step, set);
    else if (event.key === "-" || event.key === "−") set({ first: null, last: null });
    else return;
    event.preventDefault();
  };
  return (
    <div
      className="trend-heat"
      ref={frame}
      title={t("trends.heatKeys")}
      onScroll={(event) => setPage(Math.floor(event.currentTarget.scrollTop / ROW_PX / PAGE))}
    >
      <HeatAxis steps={data.steps} parted={parted} />
      <div className="trend-space" style={{ height: data.total * ROW_PX }}>
        <HeatNames
          {...{ rows: data.rows, offset: data.offset, cursor: row, kind, chosen }}
          top={data.offset * ROW_PX}
          act={press}
        />
        <div
          className="trend-cells"
          style={{ top: data.offset * ROW_PX, height: data.rows.length * ROW_PX }}
          role="slider"
          tabIndex={0}
          aria-label={t("trends.heat", { kind: kindTitle(t, kind), rows: data.total, columns })}
          aria-valuemin={data.steps[0] ?? 0}
          aria-valuemax={data.steps[columns - 1] ?? 0}
          aria-valuenow={step ?? data.steps[0] ?? 0}
          aria-valuetext={said ?? undefined}
          onKeyDown={pressed}
          onPointerDown={pointed}
        >
          <Cells cells={cells} columns={columns} rows={data.rows.length} two={other !== null} />
          {marks.map((mark) => {
            const at = columnOf(data.steps, mark);
            return at < 0 ? null : <i key={mark} className="trend-mark" style={{ left: `${((at + 0.5) / columns) * 100}%` }} />;
          })}
          {partedAt !== null && <i className="trend-parted" style={{ left: `${partedAt * 100}%` }} />}
          {column >= 0 && (
            <i
              className="trend-cursor"
              style={{ left: `${(column / columns) * 100}%`, top: (row - data.offset) * ROW_PX, height: ROW_PX, width: `${100 / columns}%` }}
            />
          )}
        </div>
      </div>
      <p className="trend-status muted" aria-live="polite">
        {said}
      </p>
    </div>
  );
}

interface CellsProps {
  cells: Uint8Array;
  columns: number;
  rows: number;
  two: boolean;
}

const Cells = memo(function Cells({ cells, columns, rows, two }: CellsProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const theme = usePreferences((state) => state.theme);
  useEffect(() => {
    const place = canvas.current;
    const context = place?.getContext("2d");
    if (!place || !context || columns === 0 || rows === 0) return;
    const began = performance.now();
    place.width = columns;
    place.height = rows;
    const image = context.createImageData(columns, rows);
    const pixels = pixelsOf(cells, paletteOf(heatColours(), two));
    new Uint32Array(image.data.buffer).set(pixels.subarray(0, columns * rows));
    context.putImageData(image, 0, 0);
    place.dataset.frame = (performance.now() - began).toFixed(1);
  }, [cells, columns, rows, two, theme]);
  return <canvas ref={canvas} aria-hidden />;
});

/** What the cell under the cursor says, for all eyes and for screen readers. */
function sentenceOf(
  t: TFunction,
  data: TrendHeat,
  cells: Uint8Array,
  row: number,
  column: number,
  two: boolean,
  exact: (target: string | null) => RankValue | null,
): string | null {
  const of = data.rows[row];
  if (of === undefined || column < 0) return null;
  const byte = cells[row * data.steps.length + column] ?? ABSENT;
  const value = valueOf(byte, two);
  const place = t("trends.cell", { step: data.steps[column], name: of.name });
  const known = exact(of.target);
  if (known !== null) return `${place}: ${apartSentence(t, known.value, known.other)}`;
  if (value === null) return `${place}: ${t(byte === ABSENT ? "trends.notMeasured" : "trends.notFinite")}`;
  if (two && value <= LEAST) return `${place}: ${t("trends.alike")}`;
  return `${place}: ${t(`trends.${wordOf(value, two)}`, { factor: factorOf(value) })}`;
}

/** How far two runs are apart in the chosen cell, which the panel beside the map says to more digits
 * than a byte holds; null for every other cell. */
function useExact(run: string): (kind: string, target: string | null, step: number | undefined) => RankValue | null {
  const { chosen, step, statistic, other } = useTrends();
  const { kind, name } = partsOf(chosen[0] ?? "");
  const query = trendCellQuery(run, kind, name, step ?? 0, statistic, other);
  const { data, isPlaceholderData } = useQuery({ ...query, enabled: chosen[0] !== undefined && step !== null && other !== null });
  // The map is drawn from the first of the ranks that measured a series.
  const first = other === null || isPlaceholderData ? undefined : data?.ranks[0];
  const known = first && (first.octaves ?? 0) > 0 ? first : null;
  return (of, target, at) => (target !== null && chosen[0] === seriesOf(of, target) && at === step ? known : null);
}

/** The step at which the run parts from the other one; null where it does not, or there is none. */
function useParted(run: string): number | null {
  const other = useTrends((place) => place.other);
  const { data } = useQuery({ ...trendPartingQuery(run, other ?? run), enabled: other !== null });
  return other !== null && data?.verdict === "parts" ? data.step : null;
}

function zoom({ steps }: TrendHeat, step: number | null, set: (change: { first: number; last: number }) => void): void {
  const [first = 0, last = 0] = [steps[0], steps[steps.length - 1]];
  const count = zoomedSteps(first, last);
  if (count !== null) set(rangeAround(step ?? steps[Math.floor(steps.length / 2)] ?? first, count, { first, last }));
}
