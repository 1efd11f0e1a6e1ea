/* One small line with its name: a button that draws it large, or that opens its module. */

import { ChevronDown, ChevronRight } from "lucide-react";
import { type MouseEvent, memo, useMemo } from "react";
import { useTranslation } from "react-i18next";

import type { TrendRow, TrendTile } from "../../api/trends";
import { columnOf } from "../../graph/heatpaint";
import { type Range, columnAt, pathOf, rangeOf } from "../../graph/smalllines";
import { useTrends } from "../../state/trends";
import { shortNumber } from "../../text/numbers";

interface Props {
  tile: TrendTile;
  /** Its place among all rows. */
  at: number;
  steps: readonly number[];
  /** The range of all tiles where they share one; else each has its own. */
  shared: Range | null;
  marks: readonly number[];
  drawn: boolean;
  current: boolean;
  act: (row: TrendRow) => void;
  point: (row: TrendRow, step: number | undefined) => void;
  focused: (at: number) => void;
}

export const Tile = memo(function Tile({ tile, at, steps, shared, marks, drawn, current, act, point, focused }: Props) {
  const { t } = useTranslation();
  const step = useTrends((state) => state.step);
  const { row, values, other } = tile;
  // A step moves one mark in the lines: what they are made of stays.
  const own = useMemo(() => rangeOf([values]), [values]);
  const range = useMemo(() => shared ?? rangeOf([values, other]), [shared, values, other]);
  const lines = useMemo(
    () => range && { own: pathOf(values, range), beside: pathOf(other, range), marks: marks.map((mark) => [mark, placeOf(steps, mark)] as const) },
    [range, values, other, marks, steps],
  );
  const value = step === null ? null : (values[columnOf(steps, step)] ?? null);
  const now = value === null ? null : `; ${t("trends.tileAt", { step, value: shortNumber(value) })}`;
  // A key, or a module: the button as such. A pointer chooses the step that it stands at.
  const clicked = (event: MouseEvent<HTMLButtonElement>): void => {
    const box = event.currentTarget.querySelector("svg")?.getBoundingClientRect();
    if (event.detail === 0 || box === undefined) act(row);
    else point(row, steps[columnAt((event.clientX - box.left) / box.width, steps.length)]);
  };
  return (
    <button
      type="button"
      className={["trend-tile", drawn ? "drawn" : "", current ? "current" : ""].filter(Boolean).join(" ")}
      tabIndex={current ? 0 : -1}
      aria-pressed={row.target === null ? undefined : drawn}
      aria-expanded={row.target === null ? row.open : undefined}
      title={row.name}
      onClick={clicked}
      onFocus={() => focused(at)}
    >
      <span className="trend-tile-name">
        {row.target === null && (row.open ? <ChevronDown aria-hidden size={11} /> : <ChevronRight aria-hidden size={11} />)}
        <bdi>{row.name}</bdi>
      </span>
      {lines === null ? (
        <span className="muted">{row.target === null ? t("trends.leaves", { count: row.leaves }) : t("trends.notMeasured")}</span>
      ) : (
        <>
          <svg viewBox="0 0 1 1" preserveAspectRatio="none" aria-hidden>
            {lines.marks.map(([mark, place]) => (
              <path key={mark} className="mark" d={`M${String(place)} 0V1`} />
            ))}
            {step !== null && <path className="step" d={`M${String(placeOf(steps, step))} 0V1`} />}
            <path className="beside" d={lines.beside} />
            <path className="own" d={lines.own} />
          </svg>
          <span className="trend-tile-ends muted">
            {shortNumber(own?.low)} – {shortNumber(own?.high)}
          </span>
        </>
      )}
      {now !== null && <span className="sr-only">{now}</span>}
    </button>
  );
});

/** Where a step stands between the first column and the last, 0 to 1. */
function placeOf(steps: readonly number[], step: number): number {
  return columnOf(steps, step) / Math.max(1, steps.length - 1);
}
