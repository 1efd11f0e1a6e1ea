/* How the score of a value was made, as a sentence: which error, and between which bounds. */

import type { TFunction } from "i18next";

import type { NodeDetails, ValuePair } from "../api/types";
import { scoreText, shortNumber } from "./numbers";

/** The error that scores 0 just so, read back from score = ln(e/tol) / ln(1/tol); null at the ends. */
export function toleranceOf({ error, score }: Pick<ValuePair, "error" | "score">): number | null {
  if (typeof error !== "number" || score === null) return null;
  const between = score > 0 && score < 1 && error > 0 && error < 1;
  return between ? error ** (1 / (1 - score)) : null;
}

/** What a value's score says; null where it has none. */
export function scoreSentence(t: TFunction, value: ValuePair): string | null {
  const { score, error, error_of: of, let_pass: by } = value;
  if (score === null) return null;
  const told = { score: scoreText(score), error: t(of === null ? "score.error" : `score.of.${of}`, { error: shortNumber(error) }) };
  if (error === null) return t("score.alone", told);
  if (error === 0) return t("score.equal", told);
  if (typeof error !== "number") return t("score.endless", told);
  if (by) return t(`score.letPass.${by}`, told);
  if (score === 0) return t("score.inside", told);
  const tolerance = toleranceOf(value);
  return tolerance === null ? t("score.full", told) : t("score.between", { ...told, tolerance: shortNumber(tolerance) });
}

/** The sentence of the value that gave a node its score: the worst of what it puts out. */
export function nodeScoreSentence(t: TFunction, { node, values }: NodeDetails): string | null {
  const outputs = values.filter(({ role }) => role === "output" || role === "parameters_grad");
  const worst = outputs.find(({ score }) => score !== null && score === node.score);
  const sentence = worst && scoreSentence(t, worst);
  return worst && sentence ? `${[worst.role, worst.path].filter(Boolean).join(".")}: ${sentence}` : null;
}
