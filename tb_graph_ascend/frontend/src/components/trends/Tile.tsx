/* One small line with its name: a button that draws it large, or that opens its module. */

import { ChevronDown, ChevronRight } from "lucide-react";
import type { MouseEvent, Ref } from "react";
import { useTranslation } from "react-i18next";

import type { TrendTile } from "../../api/trends";
import { columnOf } from "../../graph/heatpaint";
import { type Range, columnAt, pathOf, rangeOf } from "../../graph/smalllines";
import { useTrends } from "../../state/trends";
import { shortNumber } from "../../text/numbers";

interface Props {
  tile: TrendTile;
  steps: readonly number[];
  /** The range of all tiles where they share one; else each has its own. */
  shared: Range | null;
  marks: readonly number[];
  drawn: boolean;
  current: boolean;
  ref: Ref<HTMLButtonElement>;
  act: () => void;
  point: (step: number | undefined) => void;
  focused: () => void;
}

export function Tile({ tile, steps, shared, marks, drawn, current, ref, act, point, focused }: Props) {
  const { t } = useTranslation();
  const step = useTrends((state) => state.step);
  const { row, values, other } = tile;
  const range = shared ?? rangeOf([values, other]);
  const own = rangeOf([values]);
  const place = (at: number): number => columnOf(steps, at) / Math.max(1, steps.length - 1);
  const value = step === null ? null : (values[columnOf(steps, step)] ?? null);
  const said =
    own === null
      ? row.target === null
        ? t("trends.foldedTile", { name: row.name, count: row.leaves })
        : t("trends.emptyTile", { name: row.name })
      : t("trends.tile", { name: row.name, low: shortNumber(own.low), high: shortNumber(own.high) });
  const at = value === null ? "" : `; ${t("trends.tileAt", { step, value: shortNumber(value) })}`;
  // A key, or a module: the button as such. A pointer chooses the step that it stands at.
  const clicked = (event: MouseEvent<HTMLButtonElement>): void => {
    const box = event.currentTarget.querySelector("svg")?.getBoundingClientRect();
    if (event.detail === 0 || box === undefined) act();
    else point(steps[columnAt((event.clientX - box.left) / box.width, steps.length)]);
  };
  return (
    <button
      ref={ref}
      type="button"
      className={["trend-tile", drawn ? "drawn" : "", current ? "current" : ""].filter(Boolean).join(" ")}
      tabIndex={current ? 0 : -1}
      aria-label={said + at}
      aria-pressed={row.target === null ? undefined : drawn}
      aria-expanded={row.target === null ? row.open : undefined}
      title={row.name}
      onClick={clicked}
      onFocus={focused}
    >
      <span className="trend-tile-name">
        {row.target === null && (row.open ? <ChevronDown aria-hidden size={11} /> : <ChevronRight aria-hidden size={11} />)}
        <bdi>{row.name}</bdi>
      </span>
      {range === null ? (
        <span className="muted">{row.target === null ? t("trends.leaves", { count: row.leaves }) : t("trends.notMeasured")}</span>
      ) : (
        <>
          <svg viewBox="0 0 1 1" preserveAspectRatio="none" aria-hidden>
            {marks.map((mark) => (
              <path key={mark} className="mark" d={`M${String(place(mark))} 0V1`} />
            ))}
            {step !== null && <path className="step" d={`M${String(place(step))} 0V1`} />}
            <path className="beside" d={pathOf(other, range)} />
            <path className="own" d={pathOf(values, range)} />
          </svg>
          <span className="trend-tile-ends muted">
            {shortNumber(own?.low)} – {shortNumber(own?.high)}
          </span>
        </>
      )}
    </button>
  );
}
