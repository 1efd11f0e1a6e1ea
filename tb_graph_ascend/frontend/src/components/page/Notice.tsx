/* One line at the lower edge that says what just happened; read out by screen readers. */

import type { TFunction } from "i18next";
import { useEffect } from "react";
import { useTranslation } from "react-i18next";

import { refusalText } from "../../i18n/reason";
import { type Notice as Said, useApp } from "../../state/store";

const SHOWN_MS = 6000;

export function Notice() {
  const { t } = useTranslation();
  const notice = useApp((state) => state.notice);
  const set = useApp((state) => state.set);
  useEffect(() => {
    if (notice === null) return undefined;
    const timer = window.setTimeout(() => set({ notice: null }), SHOWN_MS);
    return () => window.clearTimeout(timer);
  }, [notice, set]);
  return (
    <div role="status" aria-live="polite" className={notice === null ? "sr-only" : "notice"}>
      {textOf(notice, t)}
    </div>
  );
}

function textOf(notice: Said | null, t: TFunction): string {
  if (notice === null) return "";
  if (typeof notice === "string") return t(`notice.${notice}`, { defaultValue: notice });
  const reason = notice.reason && { reason: refusalText(t, notice.reason) };
  return t(`notice.${notice.code}`, { ...notice.facts, ...reason });
}
