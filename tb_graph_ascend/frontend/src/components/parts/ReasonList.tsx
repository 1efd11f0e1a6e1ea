/* Reasons in words of the interface's language. */

import { useTranslation } from "react-i18next";

import type { Reason } from "../../api/types";
import { fullReason, reasonText } from "../../i18n/reason";

interface Props {
  reasons: readonly Reason[];
  /** What is said above them of the same finding. */
  below?: readonly Reason[];
}

export function ReasonList({ reasons, below = [] }: Props) {
  const { t } = useTranslation();
  return reasons.map((reason, index) => {
    const above = [...below, ...reasons.slice(0, index)];
    return (
      <span key={index} className="reason" title={fullReason(t, reason, above)}>
        {reasonText(t, reason, above)}
      </span>
    );
  });
}
