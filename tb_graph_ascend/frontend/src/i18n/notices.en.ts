/* English texts of the line at the lower edge; notices.zh.ts has the same keys. */

export const noticesEn = {
  noWay: "Select a row first: the way leads from the cause to it.",
  noFindings: "Nothing diverges in this comparison.",
  notHere: "This node is not in the step and rank on screen.",
  rebuilt: "This file was built anew since the link was made; its selection may be elsewhere now.",
  matched_one: "{{name}} is matched already, with {{partner}}. {{count}} node here has no partner: the query “unmatched” lists it.",
  matched_other: "{{name}} is matched already, with {{partner}}. {{count}} nodes here have no partner: the query “unmatched” lists them.",
  pickNothing: "Select a row of one side first, then press M to map it.",
  notMappable: "Only calls and modules can be mapped, not what holds them together.",
  picked: "Picked {{name}} of the $t(side.{{side}}) side. Go to its partner on the $t(side.{{other}}) side and press M again; Esc lets go.",
  mapped_one: "Mapped {{problem}} ↔ {{benchmark}}: {{count}} node measured anew. Ctrl+Z takes it back.",
  mapped_other: "Mapped {{problem}} ↔ {{benchmark}}: {{count}} nodes measured anew. Ctrl+Z takes it back.",
  notMapped: "Not mapped: {{reason}}.",
  noProposals: "No two modules without a partner seem to be the same here. Pick the two by hand: select one, press M.",
  noPairs: "Nothing is mapped by hand yet, so there is nothing to rebuild with.",
  pairsUnsaved: "The folder cannot be written, so a rebuild would not know these pairs. Download the mapping file and use --manual_mapping.",
  readOnly: "This server was started read-only: nothing can be mapped here.",
  linkCopied: "The link to this view is copied.",
};
