/* Written by `make messages` from builder/finding_certainty.py, which alone words it. */

export const sureZh = {
  word: {
    certain: "确定",
    likely: "很可能",
    possible: "可能",
  },
  basis: {
    measured: "差异为精确测得，并非估计",
    called: "两次运行都记录了调用了什么、以什么参数调用，且其后的值不同",
    recorded: "两次运行的记录都说明了这一点，与数值无关",
    estimated: "由全部元素的投影比对，相差超出舍入范围（所给误差在 2 倍以内准确）",
    edges: "两个程序只在模块边界处比对，未比对内部",
    paired_calls: "两个程序只在相互对应的调用处比对，未比对其间的部分",
    scores: "仅由统计量得出，未见元素",
    guessed: "产生此值的调用在一侧或两侧运行中没有留下可比对的数值",
    healed: "已比对运行最终给出的结果，二者一致",
  },
  behind: "之前另有原因，二者之间可能有未记录的路径",
  told: "{{word}}：{{why}}",
  and: "；",
  untold: "此文件由较早版本生成，未说明确定程度",
};
