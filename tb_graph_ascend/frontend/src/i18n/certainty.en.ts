/* English texts of an answer that is not certain, or not of what is shown; certainty.zh.ts has the same keys. */

export const certaintyEn = {
  share: "These runs share {{share}} % of their calls by name",
  why: "{{unmatched}} nodes have no partner and were not compared, so no beginning is named.",
  patterns: "They seem to be the same under other names:",
  pattern: "{{problem}} ↔ {{benchmark}} ({{count}})",
  noPatterns: "No renaming is evident. Pair modules by hand, or build with a layer mapping (-lm).",
  mapAll: "Map all",
  mapAllHelp: "Pair all that is proposed, and what is proposed inside it then",
  mapAllRebuild: "Map all and rebuild",
  byHand: "Map by hand",
  since: "With your pairs it begins in {{module}}",
  sinceTop: "With your pairs it begins at the top level",
  sinceNowhere: "With your pairs nothing measured so far diverges",
  sinceWhat: "{{call}}: the first whose inputs agree and whose output differs (score {{score}}). A rebuild diagnoses it.",
  sinceNone: "No score exceeds {{threshold}}. A rebuild compares and diagnoses everything anew.",
  sinceCauses: "The causes that were found before the mapping changed do not hold any more. Rebuild to find those that do.",
  notNamed: "Both runs differ, but no beginning could be named",
  worst_one: "{{count}} node is above {{threshold}}, worst {{worst}}; each is explained by rounding or by what came before it.",
  worst_other: "{{count}} nodes are above {{threshold}}, worst {{worst}}; each is explained by rounding or by what came before it.",
  listDivergent: "List them",
  causesNone: "No cause was named.",
};
