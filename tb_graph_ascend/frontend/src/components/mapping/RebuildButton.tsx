/* Builds the comparison anew with the manual pairs: opens the form filled in. */

import { Hammer } from "lucide-react";
import { useTranslation } from "react-i18next";

import { rebuildWithPairs } from "../../state/mapping";

export function RebuildButton({ pairs, saved }: { pairs: number; saved: boolean }) {
  const { t } = useTranslation();
  return (
    <div className="toolbar plain">
      <button
        type="button"
        className="button"
        disabled={pairs === 0 || !saved}
        title={t(saved ? "mapping.rebuildHelp" : "mapping.rebuildUnsaved")}
        onClick={() => void rebuildWithPairs()}
      >
        <Hammer aria-hidden size={14} /> {t("mapping.rebuild")}
      </button>
    </div>
  );
}
