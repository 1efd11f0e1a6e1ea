/* A failed request in words: what failed, what to do next, and a button that tries again. */

import { CircleAlert, RotateCw, X } from "lucide-react";
import { useTranslation } from "react-i18next";

import { RequestError } from "../../api/client";
import { refusedQuery } from "../../i18n/reason";

interface Props {
  error: unknown;
  retry: () => void;
  dismiss?: () => void;
  /** Fills the page, when nothing else can be shown. */
  whole?: boolean;
  /** Says only what is wrong: what the person is typing cannot be asked again as it is. */
  quiet?: boolean;
}

export function FailureNotice({ error, retry, dismiss, whole = false, quiet = false }: Props) {
  const { t } = useTranslation();
  const { text, hint, request } = useFailureText(error);
  return (
    <div className={`failure${whole ? " whole" : ""}${quiet ? " quiet" : ""}`} role={quiet ? "status" : "alert"}>
      <CircleAlert aria-hidden size={18} />
      <div className="failure-text">
        <strong>{text}</strong>
        {hint !== null && <span>{hint}</span>}
        {request !== null && !quiet && <code>{request}</code>}
      </div>
      {!quiet && (
        <button type="button" className="button" onClick={retry}>
          <RotateCw aria-hidden size={14} /> {t("retry")}
        </button>
      )}
      {dismiss && (
        <button type="button" className="icon" aria-label={t("close")} onClick={dismiss}>
          <X aria-hidden size={16} />
        </button>
      )}
    </div>
  );
}

function useFailureText(error: unknown) {
  const { t } = useTranslation();
  if (!(error instanceof RequestError)) {
    return { text: error instanceof Error ? error.message : String(error), hint: null, request: null };
  }
  const told = refusedQuery(t, error.reason);
  if (told !== null) return { text: told, hint: null, request: null };
  const place = new URL(error.url);
  const status = error.status > 0 ? ` · ${t("failure.http", { status: error.status })}` : "";
  return {
    text: error.status === 0 ? t("failure.unreachable") : error.message,
    hint: error.hint,
    request: t("failure.request", { url: place.pathname + place.search }) + status,
  };
}
