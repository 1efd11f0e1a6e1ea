/* One half of a mapping to be: the picked node of a side, or how to pick one. */

import { X } from "lucide-react";
import { useTranslation } from "react-i18next";

import type { Side } from "../../api/types";
import { useApp } from "../../state/store";
import { BreakableName } from "../parts/BreakableName";

export function PickSlot({ side }: { side: Side }) {
  const { t } = useTranslation();
  const picks = useApp((state) => state.picks);
  const set = useApp((state) => state.set);
  const node = picks[side];
  return (
    <div className={node ? "pick-slot filled" : "pick-slot"}>
      <span className={`side-tag ${side}`}>{t(`side.${side}`)}</span>
      <span className={node ? "pick-name" : "muted"} title={node?.name}>
        {node ? <BreakableName name={node.name} /> : t("mapping.choose")}
      </span>
      {node && (
        <button
          type="button"
          className="icon small"
          aria-label={t("mapping.clear")}
          title={t("mapping.clear")}
          onClick={() => set({ picks: { ...picks, [side]: null } })}
        >
          <X aria-hidden size={14} />
        </button>
      )}
    </div>
  );
}
