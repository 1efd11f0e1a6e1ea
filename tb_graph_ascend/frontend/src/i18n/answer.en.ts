/* English texts of what the answer rests on; answer.zh.ts has the same keys. */

export const answerEn = {
  notes: {
    changedPairs_one: "This is from before {{count}} changed pair of the mapping.",
    changedPairs_other: "This is from before {{count}} changed pairs of the mapping.",
    rebuild: "Rebuild (R)",
    proposed_one: "{{unmatched}} nodes have no partner; {{count}} renaming is likely.",
    proposed_other: "{{unmatched}} nodes have no partner; {{count}} renamings are likely.",
    look: "Look",
  },
  findingKind: {
    introduced: "introduced here",
    input_differs: "input already differs",
    parameter_differs: "parameter differs",
    non_finite: "NaN or Inf",
    argument_differs: "argument differs",
    precision: "other precision",
    communication: "communication",
    msprobe_error: "msprobe: error",
    drift: "drift",
    extra_calls: "extra call",
    missing_calls: "missing call",
    extra_replaced: "other call",
    missing_replaced: "other call",
    batch_differs: "other data",
    optimizer: "optimizer",
  },
};
