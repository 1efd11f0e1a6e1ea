/* A number of four digits; all of them on hover, and by a click, selected and ready to be copied. */

import { useRef, useState } from "react";
import { useTranslation } from "react-i18next";

import type { Measure } from "../../api/types";
import { besideTexts, fullNumber } from "../../text/numbers";

interface Props {
  value: Measure | undefined;
  /** The number of the other run, that the two are told apart. */
  beside?: Measure | undefined;
  /** What the number is of, before it. */
  note?: string | undefined;
  /** The key of its column, where it is in one. */
  named?: string;
}

export function NumberCell({ value, beside, note, named = "" }: Props) {
  const { t } = useTranslation();
  const [whole, setWhole] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const full = fullNumber(value);
  if (full === "") return <td className={`number muted ${named}`}>–</td>;
  const select = (): void => {
    setWhole(true);
    // Once all digits are there. What was copied before stays where it is until one copies.
    requestAnimationFrame(() => button.current && window.getSelection()?.selectAllChildren(button.current));
  };
  return (
    <td className={`number ${named}`}>
      {note !== undefined && <span className="muted">{note} </span>}
      <button
        type="button"
        ref={button}
        className={typeof value === "string" ? "digits nonfinite" : "digits"}
        title={`${full}\n${t("details.allDigits")}`}
        onClick={select}
        onBlur={() => setWhole(false)}
      >
        {whole ? full : besideTexts(value, beside)[0]}
      </button>
    </td>
  );
}
