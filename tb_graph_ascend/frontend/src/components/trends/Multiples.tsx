/* Small multiples: the rows of the heat map as small lines, so that the odd one is seen by its shape.
 * Only a page around what is in view is asked for, and only what is in view and little more is drawn. */

import { useQuery } from "@tanstack/react-query";
import { type KeyboardEvent, type RefObject, useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { useTranslation } from "react-i18next";

import { type TrendRow, type TrendTiles, trendTilesQuery } from "../../api/trends";
import { moved, rangeOf } from "../../graph/smalllines";
import { bringIntoView, useChosenRow } from "../../hooks/useChosenRow";
import { drawnFirst, rowPressed, seriesOf, useTrends } from "../../state/trends";
import { MultiplesTable } from "./MultiplesTable";
import { kindTitle } from "./seriesname";
import { Tile } from "./Tile";

const TILE_PX = 96;
const TILE_WIDTH_PX = 190;
/** Tiles are asked for by so many: as many such pages as are drawn, and as many again. */
const PAGE = 60;
/** Rows of tiles that are drawn above and below those in view. */
const BEYOND = 2;
/** Rows of the table at once, and the most that the server gives. */
const LISTED = 500;
const MOST = 1000;
const POINTS = 160;

interface Props {
  run: string;
  kind: string;
  open: readonly string[];
  marks: readonly number[];
}

export function Multiples(props: Props) {
  const { t } = useTranslation();
  const { other, statistic, first, last, table } = useTrends();
  const [asked, setAsked] = useState({ offset: 0, limit: 2 * PAGE });
  const look = useCallback((from: number, count: number): void => {
    const size = Math.min(MOST / 2, Math.ceil(count / PAGE) * PAGE);
    const offset = Math.floor(from / size) * size;
    setAsked((now) => (now.offset === offset && now.limit === 2 * size ? now : { offset, limit: 2 * size }));
  }, []);
  const { run, kind, open } = props;
  const rows = { kind, statistic, first, last, other, open: open.join(","), points: POINTS };
  const { data, isPlaceholderData } = useQuery(trendTilesQuery(run, { ...rows, ...(table ? { offset: 0, limit: LISTED } : asked) }));
  if (!data) return <p className="splash">{t("loading")}</p>;
  if (data.total === 0) return <p className="muted pad">{t("trends.empty")}</p>;
  if (table) return <MultiplesTable run={run} tiles={data.tiles} steps={data.steps} more={data.total - data.tiles.length} />;
  return <Grid {...props} data={data} look={look} waiting={isPlaceholderData} />;
}

interface GridProps extends Props {
  data: TrendTiles;
  /** Called with the first tile that is drawn, and how many are. */
  look: (from: number, count: number) => void;
  /** What is shown is of the question before. */
  waiting: boolean;
}

function Grid({ kind, open, marks, data, look, waiting }: GridProps) {
  const { t } = useTranslation();
  const { absolute, chosen, set } = useTrends();
  const frame = useRef<HTMLDivElement>(null);
  const { columns, high } = useSize(frame);
  const [row, setRow] = useState(0);
  const [cursor, setCursor] = useState(0);
  const moving = useRef(false);
  const current = Math.min(cursor, data.total - 1);
  const shared = useMemo(
    () => (absolute ? rangeOf(data.tiles.flatMap(({ values, other }) => [values, other])) : null),
    [absolute, data],
  );
  const from = Math.max(0, row - BEYOND) * columns;
  const to = Math.min(data.total, (row + high + BEYOND) * columns);
  // Of the answer before, while the next one is on its way, what is in view.
  const begin = Math.max(from, Math.ceil(data.offset / columns) * columns);
  const tiles = data.tiles.slice(begin - data.offset, Math.max(begin, to) - data.offset);
  // A tile that is not drawn takes no key, so that another one does.
  const stop = current >= begin && current < begin + tiles.length ? current : Math.max(begin, row * columns);
  const scrolled = (): void => setRow(Math.floor((frame.current?.scrollTop ?? 0) / TILE_PX));
  const moveTo = (place: number): void => {
    setCursor(place);
    if (frame.current) bringIntoView(frame.current, Math.floor(place / columns) * TILE_PX, TILE_PX);
    scrolled();
  };
  const rows = useMemo(() => data.tiles.map((tile) => tile.row), [data]);
  const chosenHere = useChosenRow(waiting ? undefined : rows, data.offset, kind, moveTo);
  useEffect(() => look(from, (high + 2 * BEYOND) * columns), [look, from, high, columns]);
  useLayoutEffect(() => {
    const tile = moving.current && stop === current ? frame.current?.querySelector<HTMLElement>(".trend-tile.current") : null;
    if (!tile) return;
    moving.current = false;
    tile.focus({ preventScroll: true });
  });
  const act = useCallback(
    (of: TrendRow): void => {
      set(rowPressed(of, { kind, open, chosen: useTrends.getState().chosen }));
      chosenHere();
    },
    [kind, open, set, chosenHere],
  );
  const point = useCallback(
    ({ target }: TrendRow, step: number | undefined): void => {
      if (target === null) return;
      set({ step: step ?? null, chosen: drawnFirst(useTrends.getState().chosen, seriesOf(kind, target)) });
      chosenHere();
    },
    [kind, set, chosenHere],
  );
  const pressed = (event: KeyboardEvent): void => {
    const to = moved(event.key, stop, columns, data.total);
    if (to === null) return;
    moving.current = true;
    moveTo(to);
    event.preventDefault();
  };
  return (
    <div className="trend-multiples" ref={frame} title={t("trends.tileKeys")} onScroll={scrolled}>
      <div
        role="toolbar"
        aria-label={t("trends.multiplesOf", { kind: kindTitle(t, kind), count: data.total })}
        className="trend-space"
        style={{ height: Math.ceil(data.total / columns) * TILE_PX }}
        onKeyDown={pressed}
      >
        <div
          className="trend-tiles"
          style={{ top: (begin / columns) * TILE_PX, gridTemplateColumns: `repeat(${String(columns)}, minmax(0, 1fr))` }}
        >
          {tiles.map((tile, index) => (
            <Tile
              key={`${tile.row.name}${tile.row.target ?? ""}${String(begin + index)}`}
              {...{ tile, shared, marks, act, point, steps: data.steps, at: begin + index, focused: setCursor }}
              drawn={tile.row.target !== null && chosen.includes(seriesOf(kind, tile.row.target))}
              current={begin + index === stop}
            />
          ))}
        </div>
      </div>
    </div>
  );
}

/** How many tiles stand beside each other in a frame, and in how many rows one sees them. */
function useSize(frame: RefObject<HTMLDivElement | null>): { columns: number; high: number } {
  const [size, setSize] = useState({ columns: 1, high: 1 });
  useLayoutEffect(() => {
    const place = frame.current;
    if (place === null) return undefined;
    const measure = (): void => {
      const columns = Math.max(1, Math.floor(place.clientWidth / TILE_WIDTH_PX));
      const high = Math.ceil(place.clientHeight / TILE_PX) + 1;
      setSize((now) => (now.columns === columns && now.high === high ? now : { columns, high }));
    };
    const watch = new ResizeObserver(measure);
    watch.observe(place);
    measure();
    return () => watch.disconnect();
  }, [frame]);
  return size;
}
