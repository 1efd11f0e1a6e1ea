/* Builds the comparison anew with the manual pairs: opens the form filled in. */

import { Hammer } from "lucide-react";
import { useTranslation } from "react-i18next";

import type { Mappings } from "../../api/types";
import { rebuildWithPairs } from "../../state/mapping";

export function RebuildButton({ mappings: { pairs, changed, saved } }: { mappings: Mappings }) {
  const { t } = useTranslation();
  return (
    <div className="toolbar plain">
      <button
        type="button"
        className="button"
        disabled={pairs.length + changed === 0 || !saved}
        title={t(saved ? "mapping.rebuildHelp" : "mapping.rebuildUnsaved")}
        onClick={() => void rebuildWithPairs()}
      >
        <Hammer aria-hidden size={14} /> {t("mapping.rebuild")}
      </button>
    </div>
  );
}
