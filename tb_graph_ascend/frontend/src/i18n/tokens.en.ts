/* Words about lines over tokens. */

export const tokensEn = {
  label: "Tokens",
  apart: "{{value}}: first apart at request {{request}}, position {{position}} (outlined); {{apart}} of {{of}} tokens",
  agree: "{{value}}: all {{tokens}} tokens agree",
  one: "request {{request}}, position {{position}}: {{told}}",
  several: "{{tokens}} tokens, from request/position {{from}} to {{to}}: {{told}}",
  score: "score {{score}}",
  none: "no numbers",
};
