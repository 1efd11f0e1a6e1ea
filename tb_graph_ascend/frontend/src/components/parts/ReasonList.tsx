/* Reasons in words of the interface's language. */

import { useTranslation } from "react-i18next";

import type { Reason } from "../../api/types";
import { fullReason, reasonText } from "../../i18n/reason";

export function ReasonList({ reasons }: { reasons: readonly Reason[] }) {
  const { t } = useTranslation();
  return reasons.map((reason, index) => (
    <span key={index} className="reason" title={fullReason(t, reason)}>
      {reasonText(t, reason)}
    </span>
  ));
}
