/* Problem, benchmark or both sides of a list. */

import { useTranslation } from "react-i18next";

import type { Side } from "../../api/types";

interface Props {
  side: Side | "";
  change: (side: Side | "") => void;
}

export function SideFilter({ side, change }: Props) {
  const { t } = useTranslation();
  return (
    <div className="toolbar segmented" role="group" aria-label={t("outline.side")}>
      {(["problem", "benchmark", ""] as const).map((one) => (
        <button key={one} type="button" aria-pressed={one === side} onClick={() => change(one)}>
          {one === "" ? t("lists.both") : t(`side.${one}`)}
        </button>
      ))}
    </div>
  );
}
