/* Written by `make messages` from builder/reasons, which alone words a reason. */

export const factsZh = {
  comma: "、",
  attribute: {
    value: "数值",
    shape: "形状",
  },
  none: "无",
  oneRank: "单张卡",
  notGiven: "未给出",
  untold: "NaN 或 Inf",
  at: "{{axis}} {{at}}（共 {{size}}）",
  more: "；另有 {{more}} 个",
  there: "；在该处名为 {{name}}",
  valueOf: "{{at}} 的 {{value}}",
  argumentNamed: "{{argument}}（{{value}}）",
  before: {
    nothing: "，此前没有任何差异能解释它",
    hardly: "，此前的差异只能解释其中不到 1%",
    share: "，此前的差异能解释其中的 {{share, percent}}",
  },
  perhaps: {
    maker: "可能由紧邻其前、未留下数值的 {{maker}} 产生；若不是，则由其他未记录的调用产生，或两次运行的数据不同",
    unknown: "可能此处传入了另一个值，可能是数据不同，也可能由未记录的调用产生（掩码和索引常常如此）",
  },
  parts: "（其中 {{fused}} 个为融合或拆分）",
  place: "第 {{step}} 步、卡 {{rank}} 的 ",
  aside: {
    rewritten: "数值不符合任何布局",
    missing: "缺少分片",
    local: "按布局文件为本地值",
    sizes: "布局本身的大小与通信组",
    padding: "词表填充",
    own: "各卡自己的选择",
    shapes: "形状不符合任何布局",
  },
  notCounted: "未统计比例",
  sure: {
    certain: "确定",
    likely: "很可能",
    possible: "可能",
    told: "由 --same 指定",
  },
  side: {
    problem: "问题侧",
    benchmark: "标杆侧",
  },
};
