/* A number of four digits; all digits on hover, copied by a click. */

import { useTranslation } from "react-i18next";

import type { Measure } from "../../api/types";
import { fullNumber, shortNumber } from "../../text/numbers";
import { useApp } from "../../state/store";
import { copyText } from "../../text/clipboard";

export function NumberCell({ value }: { value: Measure | undefined }) {
  const { t } = useTranslation();
  const set = useApp((state) => state.set);
  const full = fullNumber(value);
  if (full === "") return <td className="number muted">–</td>;
  return (
    <td className="number">
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
