/* What the rows and the strip over them say. */

export const diff = {
  diff: {
    label: "Both runs row by row, {{name}}",
    hint: "Arrow keys move, Enter opens or closes, G shows the way from the cause.",
    flow: "flow",
    flowHelp: "Which output fed which input. Green: feeds the selected row; violet: is fed by it; red: carries a difference; grey: agrees. Dashed where equal values tell it",
    input: "in",
    output: "out",
    inputHelp: "How far the inputs differ, 0 to 1",
    outputHelp: "How far the outputs differ, 0 to 1",
    foldBenchmark: "Fold the benchmark's side (B)",
    unfoldBenchmark: "Show the benchmark's side (B)",
    way: "Way from the cause",
    wayHelp: "Show only the rows on the way from the cause to the selected one (G)",
    higher: "Higher rows (+)",
    lower: "Lower rows (−)",
    gap: "not in this run",
    calls_one: "{{count}} call",
    calls_other: "{{count}} calls",
    word: {
      agrees: "agrees",
      carries: "carries",
      begins: "BEGINS",
      inside: "begins inside",
      cannot_tell: "cannot tell",
      only_here: "only here",
      unmatched: "{{count}} unmatched",
    },
  },
  profile: {
    label: "Profile: the worst score over execution order",
    help: "The worst score over execution order; click goes there, drag moves",
    forward: "forward",
    backward: "backward",
    optimizer: "optimizer",
  },
};
