/* English texts of what a score means and how one was made; score.zh.ts has the same keys. */

export const scoreEn = {
  help:
    "A value's score is its relative error e on a log scale: ln(e ÷ tolerance) ÷ ln(1 ÷ tolerance), 0 up to the tolerance, 1 from 100 % error on. " +
    "The tolerance is rounding, by default 4 · 1.03^depth · epsilon of a number format (float32 5e-7, float16 4e-3, bfloat16 3e-2, more in deeper layers): " +
    "the coarsest of the value's own on both sides and of those that the two runs compute in. So where one run computes in bfloat16, a float32 loss has the tolerance of bfloat16. " +
    "What rounding alone explains by what a call was given (a sum that cancels, a division by nearly nothing) counts as inside the tolerance, however large. " +
    "Where those inputs differ themselves, the value has its score, at most that of the worst of them, and nothing begins there. " +
    "Between float32 runs an error of 0.07 % scores 0.50, one of 30 % 0.92. A node has the worst score of what it puts out.",
  error: "relative error {{error}}",
  of: {
    norm: "relative error of the norm {{error}}",
    mean: "error of the mean {{error}} of the root mean square",
    max: "error of the maximum {{error}} of the largest magnitude",
    min: "error of the minimum {{error}} of the largest magnitude",
    elements: "relative error of the elements {{error}}",
    infinities: "relative error of infinities as marks {{error}}",
    sketch: "relative error of the elements {{error}}, estimated from sketches",
  },
  short: { norm: "norm", mean: "mean", max: "max", min: "min", elements: "elements", sketch: "≈ elements", infinities: "∞" },
  alone: "score {{score}}",
  equal: "score {{score}}: no difference",
  inside: "score {{score}}: {{error}}, inside the tolerance for rounding",
  letPass: {
    rounding: "score {{score}}: {{error}}, above the tolerance; accepted, because rounding alone may grow this far here",
    inputs: "score {{score}}: {{error}}, above the tolerance; it differs as its inputs do, which explain it: nothing begins here",
    moved: "score {{score}}: {{error}}, above the tolerance; accepted, because it comes from tokens that rounding sent to other experts",
  },
  between: "score {{score}}: {{error}}, on a log scale between the tolerance {{tolerance}} (0) and 100 % (1)",
  endless: "score {{score}}: the two are not the same, which no tolerance accepts",
  full: "score {{score}}: {{error}}; 1 is reached at 100 %",
};

/** Measures by msprobe's names for them. */
export const measuresEn = {
  "Estimated Relative Error": "relative error of the elements, estimated",
  "Estimated Cosine": "cosine, estimated",
  Cosine: "cosine",
  EucDist: "Euclidean distance",
  MaxAbsErr: "largest error of an element",
  MaxRelativeErr: "largest relative error of an element",
  "One Thousandth Err Ratio": "share of elements within 0.1 %",
  "Five Thousandths Err Ratio": "share of elements within 0.5 %",
};
