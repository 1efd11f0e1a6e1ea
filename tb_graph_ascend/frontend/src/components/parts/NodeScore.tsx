/* The score of a node, which is of what it puts out; beside it that of what it is given, where that is worse: a node
 * that swallows what comes in, or is given another argument without an effect yet, would read 0.00 alone. */

import { useTranslation } from "react-i18next";

import { isGivenWorse } from "../../state/causes";
import { ScoreChip } from "./ScoreChip";

interface NodeScoreProps {
  score: number | null;
  input: number | null;
  title?: string | undefined;
}

export function NodeScore({ score, input, title }: NodeScoreProps) {
  const { t } = useTranslation();
  if (!isGivenWorse({ score, input_score: input })) return <ScoreChip score={score} title={title} />;
  return (
    <>
      <span className="muted">{t("diff.input")}</span> <ScoreChip score={input} title={t("diff.inputHelp")} />
      <span className="muted">{t("diff.output")}</span> <ScoreChip score={score} title={title} />
    </>
  );
}
