/* Chinese texts of what a score means and how one was made; the keys are those of score.en.ts. */

import type { measuresEn, scoreEn } from "./score.en";

export const scoreZh: typeof scoreEn = {
  help:
    "数值的分数是其相对误差 e 的对数刻度：ln(e ÷ 容差) ÷ ln(1 ÷ 容差)，容差以内为 0，误差 100% 及以上为 1。" +
    "容差即舍入误差，默认为 4 · 1.03^深度 · 某一数值格式的 epsilon（float32 5e-7、float16 4e-3、bfloat16 3e-2，越深越大）：" +
    "取该数值在两侧的格式与两次运行各自计算所用格式中最粗的一个。因此只要一次运行以 bfloat16 计算，float32 的损失也按 bfloat16 的容差评判。" +
    "若按调用的输入，仅凭舍入即可解释误差（相互抵消的求和、除数接近零的除法），则无论误差多大都算在容差之内。" +
    "若这些输入本身就有差异，则数值仍有分数（不高于其最差输入的分数），但差异并非始于此处。" +
    "在两次 float32 运行之间，误差 0.07% 得 0.50，30% 得 0.92。节点的分数取其各输出中最差的。",
  error: "相对误差 {{error}}",
  of: {
    norm: "范数的相对误差 {{error}}",
    mean: "均值的误差为均方根的 {{error}} 倍",
    max: "最大值的误差为最大幅值的 {{error}} 倍",
    min: "最小值的误差为最大幅值的 {{error}} 倍",
    elements: "元素的相对误差 {{error}}",
    infinities: "以标记计的无穷大的相对误差 {{error}}",
    sketch: "元素的相对误差 {{error}}（由摘要草图估计）",
  },
  short: { norm: "范数", mean: "均值", max: "最大值", min: "最小值", elements: "元素", sketch: "≈ 元素", infinities: "∞" },
  alone: "分数 {{score}}",
  equal: "分数 {{score}}：没有差异",
  inside: "分数 {{score}}：{{error}}，在舍入容差之内",
  letPass: {
    rounding: "分数 {{score}}：{{error}}，超出容差；不计为差异，因为仅舍入误差在此处就可能放大到这个程度",
    inputs: "分数 {{score}}：{{error}}，超出容差；其输入有差异并足以解释它：差异并非始于此处",
    moved: "分数 {{score}}：{{error}}，超出容差；不计为差异，因为它由舍入改派给其他专家的词元造成",
  },
  between: "分数 {{score}}：{{error}}，按对数刻度介于容差 {{tolerance}}（0）与 100%（1）之间",
  endless: "分数 {{score}}：两者不同，任何容差都不放行",
  full: "分数 {{score}}：{{error}}；达到 100% 即为 1",
};

export const measuresZh: typeof measuresEn = {
  "Estimated Relative Error": "元素的相对误差（估计）",
  "Estimated Cosine": "余弦（估计）",
  Cosine: "余弦",
  EucDist: "欧氏距离",
  MaxAbsErr: "单个元素的最大误差",
  MaxRelativeErr: "单个元素的最大相对误差",
  "One Thousandth Err Ratio": "误差在 0.1% 以内的元素比例",
  "Five Thousandths Err Ratio": "误差在 0.5% 以内的元素比例",
};
