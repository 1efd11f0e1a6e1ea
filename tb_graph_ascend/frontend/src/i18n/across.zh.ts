/* Chinese texts of a node's scores over steps and ranks. */

export const acrossZh = {
  label: "{{name}} 在各步与各卡的分数",
  title: "各步的分数",
  plot: "{{name}} 随步数变化的分数，每张卡一条线",
  cell: "第 {{step}} 步，卡 {{rank}}：分数 {{score}}",
  cellGiven: "第 {{step}} 步，卡 {{rank}}：其输入的分数 {{score}}",
  cellOfCause: "第 {{step}} 步，卡 {{rank}}：起因也在此处；此处未计其分数",
  ofCause: "始于此处",
  pairs: "各步与各卡的最差分数",
  pairsMeans: "各步与各卡的最差分数；“–”表示只存在于一侧或失败。选中节点可查看其自身的分数。",
  pairsSingle: "此次运行的各步与各卡。",
  absent: "此处不存在",
  alone: "此步与卡只有一侧有",
  unmatched: "此调用在任何一步都没有对应调用，无法按步绘制分数。",
  causeProblem: "只有问题侧执行此调用。分数 {{score}}（第 {{step}} 步，卡 {{rank}}）是由它而来、两侧都有的调用首次读取之处的分数。",
  causeBenchmark: "只有标杆侧执行此调用。分数 {{score}}（第 {{step}} 步，卡 {{rank}}）是由它而来、两侧都有的调用首次读取之处的分数。",
  places: "{{name}} 所在的各步与各卡",
  single: "此调用所在的各步与各卡。只有一次运行，没有分数。",
  givenAlone: "任何一步都没有其输出的分数；方格显示的是其输入。",
  unscored: "任何一步都没有分数：没有可比较的数值。",
};
