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
  legend: "图例",
  keys: {
    score: "填充色：分数，取其输出或内部的最差值",
    scores: "a：输入的分数；b：输出的分数；c：内部最差",
    begins: "差异始于此处",
    alone: "只有一侧执行了此调用",
    output: "第一个输出的 shape、dtype 与 norm",
    selected: "所选；其数值在下方",
    opens: "可就地展开：点击此处、双击方框或按回车",
    repeats: "连续若干个相同的，合为一个方框",
    backward: "反向执行；没有此标记的为前向",
    edge: "连线上：所传递的值的 shape",
    feeds: "输入所选方框",
    fed: "由所选方框输出",
  },
  open: "就地展开",
  close: "收起",
};
