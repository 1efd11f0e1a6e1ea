/* The builder's reasons in English, one sentence per code of builder/reasons.py. */

export const reasonsEn: Record<string, string> = {
  nonfinite_here: "{{value}}: {{what}} is {{state}} here and finite in the benchmark",
  norm_error_appears:
    "{{value}}: relative error of the norm {{error, short}}, while those of the inputs that have one stay below 0.1 (the rule looks at norms only)",
  norm_error_grows:
    "{{value}}: relative error of the norm {{error, short}}, more than 10 times that of the inputs",
  thousandth_drops:
    "{{value}}: only {{ratio, percent}} of the elements within 0.1 %, inputs above 90 %",
  cosine_drops: "{{value}}: cosine {{cosine, short}}, a drop of more than 0.1 from the inputs",
  attribute_differs: "{{value}}: {{attribute}} is {{problem}} here and {{benchmark}} in the benchmark",
  checksum_differs: "{{value}}: the checksums differ",
  parameter_unmatched: "{{value}}: this parameter has no counterpart",
  surplus: "{{value}}: exists on the {{side}} side only",
  unrecorded: "{{value}}: the {{side}} run alone has numbers of it, so it is not compared",
  unreadable: "{{value}}: its tensor file could not be read: {{error}}",
  extension: "{{text}}",
  measure: "{{value}}: {{name}} {{number, short}}",
  fuzzy_guess: "matched with {{partner}} by a guess that scores {{score, score}}",
  introduced: "its inputs agree (score {{input_score, score}}), its {{value}} does not (score {{score, score}})",
  introduced_beyond: "its inputs differ (score {{input_score, score}}), but not such that its {{value}} would (score {{score, score}})",
  drift: "{{value}} differs (score {{score, score}}); the difference grows over many calls, most of all here",
  first_inexact: "everything before agrees to the last digit, {{value}} is the first that does not; {{reader}} makes the difference grow",
  elements_moved: "{{maker}} puts out the same elements in both runs; in {{value}} they stand in other places: they were moved on the way here",
  elements_differ: "{{value}}: the four statistics agree, but the elements are off by about {{error, apart}}",
  elements_differ_elements: "{{value}}: the four statistics agree, but the elements are off by {{error, apart}}",
  elements_apart: "{{value}}: its elements are off by about {{error, apart}}",
  elements_apart_elements: "{{value}}: its elements are off by {{error, apart}}",
  elements_count: "{{value}}: {{count}} of its {{size}} elements differ",
  statistics_agree: "{{value}}: its statistics agree, only its elements do not",
  extremes_agree: "{{value}}: its elements differ; of statistics it has largest and smallest alone, and those agree",
  incomparable: "{{value}}: the frameworks record gradients of different things here, so it is not compared",
  two_frameworks:
    "{{problem}} against {{benchmark}}: each layer of the frameworks is compared as a whole, " +
    "not the calls inside it, and the optimizer is left aside",
  rules_unfit: "rules for calls that fit none ({{count}}): {{names}}",
  files_broken: "files of values that cannot be read and are not compared ({{count}}), first {{name}}",
  default_differs: "{{what}} is {{mindspore}} by default in MindSpore and {{pytorch}} in PyTorch",
  unread: "{{value}}: the call does not read it (beta is 0), so it is not compared",
  unwritten: "{{value}}: memory that nobody had written yet, which is not compared",
  fused: "{{value}}: a compiler has fused it away, so it has no numbers to compare",
  handed_on:
    "{{reader}} receives {{value}} from here, and it differs; what this call receives agrees, and what it hands on is not recorded",
  hidden_by_infinity: "infinities in its output hide whether it agrees; {{reader}} reads it as {{value}}, and there the outputs differ",
  explained: "{{value}} is off by {{apart, apart}}{{before}}",
  explained_sketch: "{{value}} is off by about {{apart, apart}}{{before}}",
  explained_norm: "the norm of {{value}} is off by {{apart, apart}}{{before}}",
  explained_mean: "the mean of {{value}} is off by {{apart, apart}} of the root mean square{{before}}",
  explained_max: "the maximum of {{value}} is off by {{apart, apart}} of the largest magnitude{{before}}",
  explained_min: "the minimum of {{value}} is off by {{apart, apart}} of the largest magnitude{{before}}",
  extra_calls: "only the problem run calls {{names}}",
  missing_calls: "only the benchmark run calls {{names}}",
  extra_replaced: "the problem run calls {{names}} where the benchmark run calls {{instead}}",
  missing_replaced: "the benchmark run calls {{names}} where the problem run calls {{instead}}",
  extra_inside: "in it the problem run calls {{names}}",
  missing_inside: "in it the benchmark run calls {{names}}",
  heals: "all that comes of it agrees in the end: this is another way to the same result",
  calls_beside: "at the same line one run alone calls {{names}}",
  in_place_of: "in their place the other run calls {{names}}",
  input_differs: "{{value}} differs (score {{score, score}}), and no recorded call before it explains that",
  batch_differs: "{{value}}, which the model is given, differs (score {{score, score}}): the two runs were fed different data",
  unrecorded_differs: "{{value}} differs (score {{score, score}}) and no recorded call makes it: {{perhaps}}",
  fed_otherwise: "{{value}} is what {{maker}} put out here, and what {{instead}} put out in the benchmark",
  rewired: "{{value}} differs (score {{score, score}}): the problem run reads what {{maker}} put out, the benchmark run what {{instead}} put out",
  rows_differ: "{{count}} of the {{total}} rows of {{value}}, which the model is given, are not those that the benchmark run is given: rank {{ranks}} ({{coordinates}}) was fed other data",
  integers_differ: "{{value}} holds other integers: the two runs were fed different data, or made them by calls that are not recorded",
  parameter_differs: "{{value}} differs (score {{score, score}}) before the step computes anything",
  rewritten:
    "the optimizer left other parameters in step {{step}} than are read here; the benchmark run reads what its optimizer left",
  rewritten_on:
    "the optimizer left other parameters in step {{step}} than are read here on rank {{ranks}} ({{coordinates}}); the benchmark run reads what its optimizer left",
  rewritten_there:
    "the benchmark run reads other parameters here than its optimizer left in step {{step}}; this run reads what its optimizer left",
  optimizer: "all gradients of step {{step}} agree, so the optimizer's update is what differs",
  nonfinite_made: "makes {{state}} in {{value}} from finite inputs",
  nonfinite_first: "its {{value}} holds the first {{state}} of its step, where the benchmark has none",
  nonfinite_follows:
    "the first {{state}} of its step, where the benchmark has none, is in {{value}} of {{maker}}; this call, which runs before it, already differs",
  argument_differs: "the argument {{value}} is {{problem}} here and {{benchmark}} in the benchmark",
  precision_differs: "computed in {{problem}} here and in {{benchmark}} in the benchmark",
  partner_missing: "rank {{peer_rank}} makes no {{kind}} that belongs to it",
  collective_order: "rank {{peer_rank}} calls {{other}} where this rank calls {{kind}}",
  checkpoint_recomputed: "runs in the backward pass: recomputed by activation checkpointing, or called by a backward of one's own",
  rated_error:
    "no finding names it, but nodes are rated error ({{count}}): something else of their values than a number differs, as format, shape or an argument; first {{name}}",
  untold_choices: "{{name}} (of {{count}} such calls) picks others of numbers that agree to rounding, and nothing recorded tells whether that is a tie or a fault",
  ties: "{{name}} (of {{count}} such calls) ranks numbers that agree to rounding and picks others: a tie; what is gathered by them differs and is no finding",
  precision_setting:
    "computed in {{problem}} in the problem run and in {{benchmark}} in the benchmark (most values, or a whole class of calls); tolerances follow the coarser one",
  statistics_only: "a tensor dump against a statistics dump: compared on the statistics both have",
  unlike_statistics:
    "dumps of unlike tasks, {{problem}} against {{benchmark}}: compared on the statistics that both have",
  unlike_checksums:
    "dumps of unlike tasks, {{problem}} against {{benchmark}}: compared on the checksums that both have",
  unlike_attributes:
    "dumps of unlike tasks, {{problem}} against {{benchmark}}: they have no measure of a tensor in common; arguments, dtypes and shapes alone were compared",
  unlike_names:
    "dumps of unlike tasks, {{problem}} against {{benchmark}}: one holds no values; names alone were compared",
  number_taken:
    "{{name}} of the {{side}} side has the number of another folder beside it, and is shown as {{number}}",
  placed_by_names:
    "the {{side}} dump has no construct.json: its modules stand as their names say, and its calls where the other run has calls of their names, or beside their neighbours",
  same_parameters: "the same parameter shapes ({{count}})",
  same_class: "the same class {{name}}",
  same_inside: "{{count}} modules inside on both sides",
  same_place: "the same place among its neighbours",
  replica_differs:
    "{{value}} should be the same on all {{axis}} ranks and is not: rank {{ranks}} ({{coordinates}}), relative error between the ranks {{error, short}}",
  not_reduced:
    "the ranks' values add up to the benchmark's: they are not summed over {{axis}}",
  misplaced:
    "{{value}} does not lie in the {{order}} order that the run says: rank {{ranks}} ({{coordinates}}) holds other positions",
  other_axis: "{{text}}",
  gradients_scaled:
    "all gradients that the optimizer reads are {{factor, short}} times the benchmark's: the loss, clipping or the reduction, no parameter of its own",
  updates_differ:
    "what the optimizer reads or writes differs for nearly all parameters ({{count}}): the step as a whole",
  same_of: "the same is true of {{count}} more: {{names}}",
  partial_used: "{{text}}",
  update_alone:
    "the gradient that the optimizer reads and the parameter before agree, what it leaves does not: its settings, its state or the update itself",
  shard_differs: "rank {{ranks}} ({{coordinates}}) has a part that is off",
  on_ranks: "on rank {{ranks}} ({{coordinates}}){{there}}",
  merged: "the ranks are compared as one logical run: {{problem}} against {{benchmark}}",
  not_merged: "compared rank by rank, not as one logical run: {{why}}",
  merged_little: "fewer than half of the values could be compared: {{compared}} of {{total}}",
  merged_values:
    "{{compared}} values were compared, of these {{assumed}} by a guess of how the ranks share them and {{bounded}} by their mean alone; {{set_aside}} were not ({{reasons}})",
  msprobe_file: "written by msprobe's own builder: scores are its precision index",
  msprobe_error: "msprobe's own rules call this node an error, and none of those below it",
  msprobe_message: "{{value}}: {{text}}",
  parallel_merge: "{{text}}",
  only_in: "step {{step}} rank {{rank}} exists on the {{side}} side only",
  nothing_comparable: "no values could be compared",
};
