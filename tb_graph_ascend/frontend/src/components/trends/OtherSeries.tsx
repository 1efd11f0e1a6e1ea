/* The further series of an alert or of a parting: counted, and listed when asked for. */

import { useState } from "react";
import { useTranslation } from "react-i18next";

import type { TrendAlert } from "../../api/trends";
import { useSeriesName } from "./seriesname";

type Key = TrendAlert["target"];

interface Props {
  /** What stands on the button. */
  label: string;
  /** How many there are; a log names the first of them only. */
  count: number;
  others: readonly Key[];
  go: (target: Key) => void;
}

export function OtherSeries({ label, count, others, go }: Props) {
  const { t } = useTranslation();
  const named = useSeriesName();
  const [isOpen, setOpen] = useState(false);
  const rest = count - others.length;
  return (
    <>
      <button type="button" className="trend-more" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        {label}
      </button>
      {isOpen && (
        <ul className="trend-others">
          {others.map((target) => (
            <li key={target.join("/")}>
              <button type="button" onClick={() => go(target)}>
                {named(target)}
              </button>
            </li>
          ))}
          {rest > 0 && <li className="muted">{t("trends.notNamed", { count: rest })}</li>}
        </ul>
      )}
    </>
  );
}
