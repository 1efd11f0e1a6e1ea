/* Written by `make messages` from builder/reasons, which alone words a reason. */

export const factsEn = {
  comma: ", ",
  attribute: {
    value: "value",
    shape: "shape",
  },
  none: "none",
  oneRank: "one rank",
  notGiven: "not given",
  untold: "NaN or Inf",
  at: "{{axis}} {{at}} of {{size}}",
  more: "; and {{more}} more",
  there: "; there: {{name}}",
  valueOf: "{{value}} of {{at}}",
  argumentNamed: "{{argument}} ({{value}})",
  before: {
    nothing: ", and nothing before it explains that",
    hardly: ", and what differs before it explains less than 1 % of that",
    share: ", and what differs before it explains {{share, percent}} of that",
  },
  perhaps: {
    maker: "perhaps {{maker}}, which runs right before and left no values; if not, another call that is not recorded, or other data",
    unknown: "another value may be passed here, it may be other data, or something that is made unrecorded, as masks and indices often are",
  },
  parts: " ({{fused}} of them fused or in parts)",
  place: " in step {{step}} rank {{rank}}",
  aside: {
    rewritten: "values fit no layout",
    missing: "parts are missing",
    local: "local, as the layout file says",
    sizes: "sizes and groups of the layout",
    padding: "padding of the vocabulary",
    own: "each rank's own choice",
    shapes: "its shapes fit no layout",
  },
  notCounted: "an uncounted share",
  sure: {
    certain: "certain",
    likely: "likely",
    possible: "possible",
    told: "as --same says",
  },
  side: {
    problem: "problem",
    benchmark: "benchmark",
  },
};
