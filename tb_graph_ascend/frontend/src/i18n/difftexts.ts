/* The words of the rows, gathered for the canvas, which asks for them many times a frame. */

import type { TFunction } from "i18next";

import type { DiffTexts } from "../graph/scene";

export function textsOf(t: TFunction): DiffTexts {
  return {
    word: {
      none: "",
      agrees: t("diff.word.agrees"),
      carries: t("diff.word.carries"),
      begins: t("diff.word.begins"),
      cannot_tell: t("diff.word.cannot_tell"),
      only_problem: t("diff.word.only_here"),
      only_benchmark: t("diff.word.only_here"),
    },
    inside: t("diff.word.inside"),
    unmatched: (count) => t("diff.word.unmatched", { count }),
    calls: (count) => t("diff.calls", { count }),
    gap: t("diff.gap"),
    level: { medium: t("level.medium"), high: t("level.high"), critical: t("level.critical") },
  };
}
