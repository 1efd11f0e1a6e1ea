/* 行与概览条的文字。 */

export const diff = {
  diff: {
    label: "两次运行逐行对照，{{name}}",
    hint: "方向键移动，回车展开或收起，G 显示从起因出发的路径。",
    flow: "流向",
    flowHelp: "哪个输出成为哪个输入。绿色：输入所选行；紫色：由所选行输出；红色：携带差异；灰色：一致。虚线表示由相等的值推断",
    input: "入",
    output: "出",
    inputHelp: "输入相差多少，0 到 1",
    outputHelp: "输出相差多少，0 到 1",
    foldBenchmark: "折叠标杆侧 (B)",
    unfoldBenchmark: "显示标杆侧 (B)",
    way: "从起因出发的路径",
    wayHelp: "只显示从起因到所选行之间的行 (G)",
    higher: "增大行高 (+)",
    lower: "减小行高 (−)",
    gap: "此次运行没有",
    calls_one: "{{count}} 个调用",
    calls_other: "{{count}} 个调用",
    word: {
      agrees: "一致",
      carries: "延续",
      begins: "始于此处",
      inside: "内部开始",
      cannot_tell: "无法判断",
      only_here: "仅此侧有",
      unmatched: "{{count}} 个未匹配",
    },
  },
  profile: {
    label: "概览：按执行顺序的最差分数",
    help: "按执行顺序的最差分数；点击跳转，拖动移动",
    forward: "前向",
    backward: "反向",
    optimizer: "优化器",
  },
};
