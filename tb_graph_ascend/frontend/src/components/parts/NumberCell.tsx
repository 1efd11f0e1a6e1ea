/* A number of four digits; all digits on hover, copied by a click. */

import { useTranslation } from "react-i18next";

import type { Measure } from "../../api/types";
import { fullNumber, shortNumber } from "../../text/numbers";
import { useApp } from "../../state/store";
import { copyText } from "../../text/clipboard";

interface Props {
  value: Measure | undefined;
  /** Says that it is the value itself, where its column holds something made of values. */
  itself?: string | undefined;
}

export function NumberCell({ value, itself }: Props) {
  const { t } = useTranslation();
  const set = useApp((state) => state.set);
  const full = fullNumber(value);
  if (full === "") return <td className="number muted">–</td>;
  return (
    <td className={itself === undefined ? "number" : "number itself"} title={itself}>
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
