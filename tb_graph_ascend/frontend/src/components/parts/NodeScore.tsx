/* The score of a node, which is of what it puts out; beside it that of what it is given, where that diverges alone: a node
 * that swallows what comes in, or is given another argument without an effect yet, would read 0.00 alone. */

import { useTranslation } from "react-i18next";

import { useAnswer } from "../../hooks/useAnswer";
import { isGivenWorse } from "../../state/causes";
import { ScoreChip } from "./ScoreChip";

interface NodeScoreProps {
  score: number | null;
  input: number | null;
  title?: string | undefined;
}

export function NodeScore({ score, input, title }: NodeScoreProps) {
  const { t } = useTranslation();
  const threshold = useAnswer().data?.threshold;
  if (!isGivenWorse({ score, input_score: input }, threshold)) return <ScoreChip score={score} title={title} />;
  return (
    <>
      <span className="muted">{t("diff.input")}</span> <ScoreChip score={input} title={t("diff.inputHelp")} />
      <span className="muted">{t("diff.output")}</span> <ScoreChip score={score} title={title} />
    </>
  );
}
