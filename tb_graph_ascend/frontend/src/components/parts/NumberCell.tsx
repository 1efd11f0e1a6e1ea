/* A number of four digits; all of them on hover, and by a click, selected and ready to be copied. */

import { useRef, useState } from "react";
import { useTranslation } from "react-i18next";

import type { Measure } from "../../api/types";
import { fullNumber, shortNumber } from "../../text/numbers";

interface Props {
  value: Measure | undefined;
  /** What the number is of, before it. */
  note?: string | undefined;
}

export function NumberCell({ value, note }: Props) {
  const { t } = useTranslation();
  const [whole, setWhole] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const full = fullNumber(value);
  if (full === "") return <td className="number muted">–</td>;
  const select = (): void => {
    setWhole(true);
    // Once all digits are there. What was copied before stays where it is until one copies.
    requestAnimationFrame(() => button.current && window.getSelection()?.selectAllChildren(button.current));
  };
  return (
    <td className="number">
      {note !== undefined && <span className="muted">{note} </span>}
      <button
        type="button"
        ref={button}
        className={typeof value === "string" ? "digits nonfinite" : "digits"}
        title={`${full}\n${t("details.allDigits")}`}
        onClick={select}
        onBlur={() => setWhole(false)}
      >
        {whole ? full : shortNumber(value)}
      </button>
    </td>
  );
}
