/* Written by `make messages` from builder/finding_certainty.py, which alone words it. */

export const sureEn = {
  word: {
    certain: "certain",
    likely: "likely",
    possible: "possible",
  },
  basis: {
    measured: "what differs was measured exactly, not estimated",
    called: "both recordings say what is called and with what, and the values after it differ",
    recorded: "both recordings say so, whatever numbers there are",
    estimated: "compared by projections of all elements, which differ by more than rounding (errors given are right within a factor of 2)",
    edges: "two programs were compared at the edges of their modules, not inside",
    paired_calls: "two programs were compared at the calls that correspond, not in between",
    scores: "based on statistics only; elements were not compared",
    guessed: "what makes this value left none to compare, in one run or in both",
    healed: "what the run puts out in the end was compared, and agrees",
  },
  behind: "another cause comes before it, and a way from that one to here may be unrecorded",
  told: "{{word}}: {{why}}",
  and: "; ",
  untold: "how sure it is, this file does not say: it was built by an earlier release",
};
