/* Chinese texts of the graph of a module. */

import type { boxesEn } from "./boxes.en";

export const boxesZh: typeof boxesEn = {
  label: "{{name}} 的图",
  tools: "图的工具",
  show: "图",
  showHelp: "将打开的模块显示为方框与连线 (V)",
  rows: "行",
  rowsHelp: "回到行 (V)",
  above: "上一层",
  hint: "方向键移动，回车展开方框，拖动平移，Ctrl 加滚轮缩放",
  leftOut_one: "另有 {{count}} 个方框未显示",
  leftOut_other: "另有 {{count}} 个方框未显示",
  larger: "放大",
  smaller: "缩小",
  open: "就地展开",
  close: "收起",
};
