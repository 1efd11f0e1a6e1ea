/* A number of four digits; all digits on hover, copied by a click. */

import { useTranslation } from "react-i18next";

import type { Measure } from "../../api/types";
import { fullNumber, shortNumber } from "../../text/numbers";
import { useApp } from "../../state/store";
import { copyText } from "../../text/clipboard";

interface Props {
  value: Measure | undefined;
  /** What the number is of, before it. */
  note?: string | undefined;
}

export function NumberCell({ value, note }: Props) {
  const { t } = useTranslation();
  const set = useApp((state) => state.set);
  const full = fullNumber(value);
  if (full === "") return <td className="number muted">–</td>;
  return (
    <td className="number">
      {note !== undefined && <span className="muted">{note} </span>}
      <button
        type="button"
        className={typeof value === "string" ? "digits nonfinite" : "digits"}
        title={`${full}\n${t("copy")}`}
        onClick={() => void copyText(full).then(() => set({ notice: `${t("copied")}: ${full}` }))}
      >
        {shortNumber(value)}
      </button>
    </td>
  );
}
