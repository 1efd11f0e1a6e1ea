/* English words inside the facts of reasons; facts.zh.ts has the same keys. */

export const factsEn = {
  none: "none",
  oneRank: "one rank",
  at: "{{axis}} {{at}} of {{size}}",
  more: "; and {{more}} more",
  there: "; there: {{name}}",
  aside: {
    rewritten: "inside what the layout rewrites",
    missing: "parts are missing",
    local: "local, as the layout file says",
    sizes: "sizes and groups of the layout",
    padding: "padding of the vocabulary",
    shapes: "its shapes fit no layout",
  },
};
