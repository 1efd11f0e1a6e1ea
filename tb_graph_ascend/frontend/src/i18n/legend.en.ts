/* English texts of the legend over the rows; legend.zh.ts has the same keys. */

export const legendEn = {
  score: "Score",
  scoreHelp: "0: within the rounding of the number formats. 1: 100 % error or more. In between every tenfold error adds the same. A row that shows 0.00 agrees; above that and up to the threshold it is close.",
  unmatchedCount: "{{count}} unmatched",
  divergent: "{{count}} divergent",
  divergentHelp: "Matched nodes of this step and rank whose score exceeds {{threshold}}. A click lists them.",
  unmatchedHelp: "Nodes of this step and rank without a partner, of both runs. A click lists them.",
  noScore: "no score",
  overflow: "Overflow",
  noLevels: "no levels: build with -oc",
  recolour: "Colour by overflow level",
  exempt: "A call that puts infinity there on purpose (masked_fill, empty) has no level, and one that makes NaN of it is high.",
  wholeStep: "of the whole step",
  nonfinite: {
    infinity: "the first infinity before it is in {{value}} of",
    finite: "makes the first {{state}} of this step, in {{value}}; no recorded input holds any",
    infinite: "makes the first {{state}} of this step, in {{value}}, of the {{held}} in {{given}}",
    given: "is the first of this step to put out {{state}}, in {{value}}; its {{given}} holds {{held}} already",
  },
  rails: {
    "flow-in": "feeds the selected row",
    "flow-out": "is fed by the selected row",
    "rail-bad": "carries a difference on",
    rail: "agrees, or nothing is known",
    dashed: "dashed: inferred from equal values, not recorded in the dump",
    hatched: "a call that one run alone makes",
  },
  marks: {
    backward: "ran backward; without it, forward",
    repeats: "so many alike, one after the other, in one row",
    call: "the number of the call among those of its name, from 0",
  },
};
