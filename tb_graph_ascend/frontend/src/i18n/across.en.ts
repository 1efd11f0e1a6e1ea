/* English texts of a node's scores over steps and ranks. */

export const acrossEn = {
  label: "Score of {{name}} in every step and rank",
  title: "Score over the steps",
  plot: "Score of {{name}} over the steps, one line per rank",
  cell: "step {{step}}, rank {{rank}}: score {{score}}",
  cellGiven: "step {{step}}, rank {{rank}}: score {{score}} of what it is given",
  cellOfCause: "step {{step}}, rank {{rank}}: the cause is there, too; no score of it was taken there",
  ofCause: "begins",
  pairs: "Worst score of every step and rank",
  pairsMeans: "The worst score of each step and rank; those with – are in one run only, or failed. Select a node to see its own.",
  pairsSingle: "The steps and ranks of this run.",
  absent: "does not occur there",
  alone: "this step and rank is in one run only",
  unmatched: "This call has no partner in any step, so no score can be drawn over the steps.",
  causeProblem: "Only the problem run makes this call. Its score {{score}} (step {{step}}, rank {{rank}}) is of what comes of it, where a call of both runs first reads that.",
  causeBenchmark: "Only the benchmark run makes this call. The score {{score}} (step {{step}}, rank {{rank}}) is of what comes of it, where a call of both runs first reads that.",
  places: "{{name}} in every step and rank",
  single: "The steps and ranks in which this call runs. Of one run there are no scores.",
  givenAlone: "No score of what it puts out is known in any step; the squares show what it is given.",
  unscored: "No score is known in any step: there were no values to compare.",
};
