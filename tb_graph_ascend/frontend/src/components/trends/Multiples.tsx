/* Small multiples: the rows of the heat map as small lines, so that the odd one is seen by its shape.
 * Only a page around what is in view is asked for. */

import { useQuery } from "@tanstack/react-query";
import { type KeyboardEvent, useCallback, useEffect, useMemo, useRef, useState } from "react";
import { useTranslation } from "react-i18next";

import { trendTilesQuery } from "../../api/trends";
import { moved, rangeOf } from "../../graph/smalllines";
import { drawnFirst, rowPressed, seriesOf, useTrends } from "../../state/trends";
import { MultiplesTable } from "./MultiplesTable";
import { Tile } from "./Tile";

const TILE_PX = 96;
const TILE_WIDTH_PX = 190;
const PAGE = 60;
const AHEAD = 180;
/** Rows of the table at once. */
const LISTED = 500;
const POINTS = 160;

interface Props {
  run: string;
  kind: string;
  open: readonly string[];
  marks: readonly number[];
}

export function Multiples({ run, kind, open, marks }: Props) {
  const { t } = useTranslation();
  const { other, statistic, first, last, absolute, chosen, table, set } = useTrends();
  const [columns, frame] = useColumns();
  const [top, setTop] = useState(0);
  const [cursor, setCursor] = useState(0);
  const moving = useRef(false);
  const inView = Math.floor(top / TILE_PX) * columns;
  const offset = Math.max(0, Math.floor(inView / PAGE) * PAGE - PAGE);
  const from = offset - (offset % columns);
  const wish = { kind, statistic, first, last, other, open: open.join(","), points: POINTS, offset: from, limit: table ? LISTED : AHEAD };
  const { data } = useQuery(trendTilesQuery(run, wish));
  const shared = useMemo(
    () => (absolute && data ? rangeOf(data.tiles.flatMap(({ values, other: beside }) => [values, beside])) : null),
    [absolute, data],
  );
  if (!data) return <p className="splash">{t("loading")}</p>;
  if (data.total === 0) return <p className="muted pad">{t("trends.empty")}</p>;
  if (table) return <MultiplesTable tiles={data.tiles} steps={data.steps} more={data.total - data.tiles.length} />;
  const current = Math.min(cursor, data.total - 1);
  const pressed = (event: KeyboardEvent): void => {
    const to = moved(event.key, current, columns, data.total);
    if (to === null) return;
    moving.current = true;
    setCursor(to);
    event.preventDefault();
  };
  return (
    <div className="trend-multiples" ref={frame} title={t("trends.tileKeys")} onScroll={(event) => setTop(event.currentTarget.scrollTop)}>
      <div
        role="toolbar"
        aria-label={t("trends.multiplesOf", { kind: t(`trends.kinds.${kind as "grad"}`), count: data.total })}
        className="trend-space"
        style={{ height: Math.ceil(data.total / columns) * TILE_PX }}
        onKeyDown={pressed}
      >
        <div
          className="trend-tiles"
          style={{ top: (data.offset / columns) * TILE_PX, gridTemplateColumns: `repeat(${String(columns)}, minmax(0, 1fr))` }}
        >
          {data.tiles.map((tile, index) => {
            const place = data.offset + index;
            const series = tile.row.target === null ? null : seriesOf(kind, tile.row.target);
            return (
              <Tile
                key={`${tile.row.name}${tile.row.target ?? ""}${String(place)}`}
                {...{ tile, shared, marks, steps: data.steps }}
                drawn={series !== null && chosen.includes(series)}
                current={place === current}
                ref={(button) => {
                  if (place !== current || !moving.current || button === null) return;
                  moving.current = false;
                  button.focus();
                }}
                act={() => set(rowPressed(tile.row, { kind, open, chosen }))}
                point={(step) => {
                  if (series !== null) set({ step: step ?? null, chosen: drawnFirst(chosen, series) });
                }}
                focused={() => setCursor(place)}
              />
            );
          })}
        </div>
      </div>
    </div>
  );
}

/** How many tiles stand beside each other in the frame that the reference is given to. */
function useColumns(): [number, (place: HTMLDivElement | null) => void] {
  const [columns, setColumns] = useState(1);
  const watch = useRef<ResizeObserver | null>(null);
  useEffect(() => () => watch.current?.disconnect(), []);
  const frame = useCallback((place: HTMLDivElement | null) => {
    watch.current?.disconnect();
    if (place === null) return;
    const measure = (): void => setColumns(Math.max(1, Math.floor(place.clientWidth / TILE_WIDTH_PX)));
    watch.current = new ResizeObserver(measure);
    watch.current.observe(place);
    measure();
  }, []);
  return [columns, frame];
}
