/* Chinese texts of the legend over the rows; the keys are those of legend.en.ts. */

import type { legendEn } from "./legend.en";

export const legendZh: typeof legendEn = {
  score: "分数",
  scoreHelp: "0：在数值格式的舍入误差之内。1：误差 100% 及以上。两者之间误差每增大十倍，分数增加相同。显示 0.00 的行为一致；高于 0.00 且不超过阈值的为接近。",
  unmatchedCount: "{{count}} 个未匹配",
  divergent: "{{count}} 个有差异",
  divergentHelp: "当前步与卡中分数超过 {{threshold}} 的已匹配节点。点击列出。",
  unmatchedHelp: "当前步与卡中两侧没有对应节点的节点。点击列出。",
  noScore: "无分数",
  overflow: "溢出",
  noLevels: "没有等级：请用 -oc 构建",
  recolour: "按溢出等级着色",
  exempt: "有意写入无穷的调用（masked_fill、empty）没有等级，由其产生 NaN 的调用为“高”。",
  wholeStep: "按整步计",
  nonfinite: {
    infinity: "在它之前的第一个无穷大在 {{value}} 中，属于",
    finite: "产生本步第一个 {{state}}（{{value}}）；已记录的输入中都没有",
    infinite: "由 {{given}} 中的 {{held}} 产生本步第一个 {{state}}（{{value}}）",
    given: "是本步最先输出 {{state}} 的调用（{{value}}）；其 {{given}} 已含 {{held}}",
  },
  rails: {
    "flow-in": "输入所选行",
    "flow-out": "由所选行输出",
    "rail-bad": "延续差异",
    rail: "一致，或未知",
    dashed: "虚线：由相等的值推断，转储中没有记录",
    hatched: "只有一侧运行的调用",
  },
  marks: {
    backward: "反向执行；没有此标记的为前向",
    repeats: "连续若干个相同的，合为一行",
    call: "同名调用中的序号，从 0 起",
  },
};
