/* English texts of the query over nodes; search.zh.ts has the same keys. */

export const searchEn = {
  label: "Nodes that fit a query",
  placeholder: "Nodes: softmax score>0.5  ( / )",
  placeholderSingle: "Nodes: conv backward  ( / )",
  language:
    "Words of the name (of the module, where no name has them), /regular expression/, \"two words\", score>0.5 input<0.1 introduced>0.2,\nside:problem kind:api verdict:error overflow:high direction:forward,\nforward backward matched unmatched divergent overflow,\n-word for what shall not hold. All of them must hold.",
  previous: "Previous node that fits (Shift+Enter)",
  next: "Next node that fits (Enter)",
  count_one: "{{count}} node",
  count_other: "{{count}} nodes",
  position: "{{position}} of {{count}}",
  none: "No node fits all terms of the query.",
  unknown: "Nothing in this step and rank has “{{word}}” in its name or in that of its module.",
  nearest: "Nearest names:",
  clear: "Clear the query",
  refused: {
    no_number: "“{{term}}” compares with no number: write score>0.5.",
    no_field: "“{{field}}:” is no field: there are side: kind: direction: verdict: overflow:.",
    no_choice: "“{{term}}” is unknown: there are {{choices}}.",
    no_expression: "“{{pattern}}” is no regular expression ({{error}}).",
    too_slow: "“{{pattern}}” takes too long: simplify it, or write plain words.",
    too_large: "“{{pattern}}” is too large ({{error}}): repeat less, or write plain words.",
    unsupported:
      "“{{pattern}}” holds look-ahead, look-behind, a reference to a group or the like, which are not understood ({{error}}).",
    no_engine: "The server cannot search by expression: google-re2 is not installed there. Write plain words.",
  },
};
