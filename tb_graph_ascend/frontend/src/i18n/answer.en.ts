/* English texts of what the answer rests on; answer.zh.ts has the same keys. */

export const answerEn = {
  notes: {
    changedPairs_one: "This is from before {{count}} changed pair of the mapping.",
    changedPairs_other: "This is from before {{count}} changed pairs of the mapping.",
    rebuild: "Rebuild (R)",
    proposed_one: "{{unmatched}} nodes have no partner; {{count}} renaming is likely.",
    proposed_other: "{{unmatched}} nodes have no partner; {{count}} renamings are likely.",
    look: "Look",
    followHelp:
      "Nodes to which the difference passed on: also those that differ too little to be divergent, and those that cannot be compared.",
    listThem: "List them",
    notCompared: "Not compared",
    unmatched_one: "{{count}} node here has no partner.",
    unmatched_other: "{{count}} nodes here have no partner.",
    withoutValues_one: "{{count}} call here has a partner, but no value that could be compared.",
    withoutValues_other: "{{count}} calls here have partners, but no values that could be compared.",
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
