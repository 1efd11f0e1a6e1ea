/* The words of the rows, gathered for the canvas, which asks for them many times a frame. */

import type { TFunction } from "i18next";

import type { DiffTexts } from "../graph/scene";

/** `begins`: a beginning is named, from which differences are carried on. */
export function textsOf(t: TFunction, begins: boolean): DiffTexts {
  const level = { medium: t("level.medium"), high: t("level.high"), critical: t("level.critical") };
  return {
    word: {
      none: "",
      agrees: t("diff.word.agrees"),
      close: t("diff.word.close"),
      carries: t(begins ? "diff.word.carries" : "diff.word.differs"),
      differs: t("diff.word.differs"),
      begins: t("diff.word.begins"),
      heals: t("diff.word.heals"),
      only_inputs: t("diff.word.only_inputs"),
      cannot_tell: t("diff.word.cannot_tell"),
      only_problem: t("diff.word.only_problem"),
      only_benchmark: t("diff.word.only_benchmark"),
    },
    inside: t("diff.word.inside"),
    healsInside: t("diff.word.healsInside"),
    unmatched: (count) => t("diff.word.unmatched", { count }),
    calls: (count) => t("diff.calls", { count }),
    last: (output) => t("diff.last", { output }),
    gap: t("diff.gap"),
    level,
    overflow: {
      medium: t("diff.word.overflow", { level: level.medium }),
      high: t("diff.word.overflow", { level: level.high }),
      critical: t("diff.word.overflow", { level: level.critical }),
    },
  };
}
