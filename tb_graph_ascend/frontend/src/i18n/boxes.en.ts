/* English texts of the graph of a module; boxes.zh.ts has the same keys. */

export const boxesEn = {
  label: "Graph of {{name}}",
  tools: "Tools of the graph",
  show: "Graph",
  showHelp: "The open module as boxes and edges (V)",
  rows: "Rows",
  rowsHelp: "Back to the rows (V)",
  above: "Up",
  hint: "Arrow keys move, Enter opens a box, drag moves, Ctrl and wheel zoom",
  leftOut_one: "{{count}} more box is not shown",
  leftOut_other: "{{count}} more boxes are not shown",
  larger: "Larger",
  smaller: "Smaller",
  open: "Open in place",
  close: "Close",
};
