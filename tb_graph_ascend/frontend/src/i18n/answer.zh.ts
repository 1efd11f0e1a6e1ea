/* Chinese texts of what the answer rests on; the keys are those of answer.en.ts. */

import type { answerEn } from "./answer.en";

export const answerZh: typeof answerEn = {
  notes: {
    changedPairs_one: "此结论未计入映射中改动的 {{count}} 对。",
    changedPairs_other: "此结论未计入映射中改动的 {{count}} 对。",
    rebuild: "重新构建 (R)",
    proposed_one: "{{unmatched}} 个节点没有对应节点；其中可能有 {{count}} 处改名。",
    proposed_other: "{{unmatched}} 个节点没有对应节点；其中可能有 {{count}} 处改名。",
    look: "查看",
    followHelp: "差异传到的节点：也包括差异太小而不算有差异的，以及无法比对的。",
    listThem: "列出",
    otherMakers_one: "显示另外 {{count}} 个产生它的调用",
    otherMakers_other: "显示另外 {{count}} 个产生它的调用",
    otherReaders_one: "显示另外 {{count}} 个读取它的调用",
    otherReaders_other: "显示另外 {{count}} 个读取它的调用",
    less: "收起",
    readers: "其输出被读取于",
    notCompared: "未比对",
    unmatched_one: "此处 {{count}} 个节点没有对应节点。",
    unmatched_other: "此处 {{count}} 个节点没有对应节点。",
    withoutValues_one: "此处 {{count}} 个调用有对应节点，但没有可比对的数值。",
    withoutValues_other: "此处 {{count}} 个调用有对应节点，但没有可比对的数值。",
  },
  findingKind: {
    introduced: "在此引入",
    input_differs: "输入已不同",
    parameter_differs: "参数不同",
    non_finite: "NaN 或 Inf",
    argument_differs: "实参不同",
    precision: "精度不同",
    communication: "通信",
    msprobe_error: "msprobe：错误",
    drift: "逐渐偏离",
    extra_calls: "多余的调用",
    missing_calls: "缺少的调用",
    extra_replaced: "换成了别的调用",
    missing_replaced: "换成了别的调用",
    batch_differs: "数据不同",
    optimizer: "优化器",
  },
};
