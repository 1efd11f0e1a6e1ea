/* The score that a cause is listed by; where that is of what it leads to, the chip says so: its own may be 0.00. */

import { useTranslation } from "react-i18next";

import type { Cause } from "../../api/types";
import { causeScoreText, leadsToText } from "../../state/causes";
import { ScoreChip } from "./ScoreChip";

export function CauseScore({ cause }: { cause: Cause }) {
  const { t } = useTranslation();
  return <ScoreChip score={cause.worst} title={causeScoreText(t, cause)} said={leadsToText(t, cause)} />;
}
