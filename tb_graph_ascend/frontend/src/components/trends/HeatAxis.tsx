/* The steps above the columns of the heat map, and the step at which two runs part. */

import { useLayoutEffect, useRef, useState } from "react";
import { useTranslation } from "react-i18next";

import { placeOf, stepTicks } from "../../graph/stepticks";

/** Room that a number of seven digits takes, with some between two of them. */
const TICK_PX = 64;
/** As many of them take the words beside the step of a parting. */
const PARTED_TICKS = 2;

interface Props {
  steps: readonly number[];
  parted: number | null;
}

export function HeatAxis({ steps, parted }: Props) {
  const { t } = useTranslation();
  const axis = useRef<HTMLDivElement>(null);
  const [most, setMost] = useState(8);
  useLayoutEffect(() => {
    const place = axis.current;
    if (!place) return;
    const watch = new ResizeObserver(() => setMost(Math.max(1, Math.floor(place.clientWidth / TICK_PX))));
    watch.observe(place);
    return () => watch.disconnect();
  }, []);
  const at = parted === null ? null : placeOf(steps, parted);
  // What tells of the parting is read, so no number stands below it.
  const free = stepTicks(steps, most).filter((tick) => at === null || Math.abs(tick.at - at) * most >= PARTED_TICKS);
  return (
    <div className="trend-axis" ref={axis} aria-hidden>
      {free.map(({ step, at: left }) => (
        <span key={step} style={placed(left)}>
          {step}
        </span>
      ))}
      {at !== null && (
        <b className="trend-parted-step" style={placed(at)}>
          {t("trends.partedAt", { step: parted })}
        </b>
      )}
    </div>
  );
}

/** Right of the middle a text ends at its step, so that none is cut at the map's edge. */
function placed(at: number): { left: string } | { right: string } {
  return at > 0.5 ? { right: `${(1 - at) * 100}%` } : { left: `${at * 100}%` };
}
