/* One line at the lower edge that says what just happened; read out by screen readers. */

import { useEffect } from "react";
import { useTranslation } from "react-i18next";

import { useApp } from "../../state/store";

const SHOWN_MS = 4000;

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
      {notice !== null && t(`notice.${notice}`, { defaultValue: notice })}
    </div>
  );
}
