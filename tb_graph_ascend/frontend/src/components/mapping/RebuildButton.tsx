/* Builds the comparison anew with the manual pairs: opens the form filled in. */

import { Hammer } from "lucide-react";
import { useTranslation } from "react-i18next";

import { api } from "../../api/client";
import { guarded } from "../../state/actions";
import { useApp } from "../../state/store";

export function RebuildButton({ pairs, saved }: { pairs: number; saved: boolean }) {
  const { t } = useTranslation();
  return (
    <div className="toolbar plain">
      <button
        type="button"
        className="button"
        disabled={pairs === 0 || !saved}
        title={t(saved ? "mapping.rebuildHelp" : "mapping.rebuildUnsaved")}
        onClick={() => rebuild()}
      >
        <Hammer aria-hidden size={14} /> {t("mapping.rebuild")}
      </button>
    </div>
  );
}

function rebuild(): void {
  const { db, set } = useApp.getState();
  if (db === null) return;
  void guarded(rebuild, async () => set({ wish: await api.buildWish(db), dialog: "build" }));
}
