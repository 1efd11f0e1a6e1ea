/* Chinese texts of an answer that is not certain, or not of what is shown. */

import type { certaintyEn } from "./certainty.en";

export const certaintyZh: typeof certaintyEn = {
  share: "两次运行只有 {{share}}% 的调用同名",
  why: "两次运行合计{{over}} {{unmatched}} 个节点没有对应节点，未比对，因此不指出差异的起点。",
  patterns: "它们似乎只是名称不同：",
  pattern: "{{problem}} ↔ {{benchmark}}（{{count}}）",
  noPatterns: "没有明显的改名。请手动映射模块，或以层映射 (-lm) 构建。",
  mapAll: "全部映射",
  mapAllHelp: "映射全部建议及其内部",
  mapAllRebuild: "全部映射并重新构建",
  mapping: "正在映射建议的各对并重新测量；随后自动开始构建…",
  measuring: "正在映射并重新度量…",
  byHand: "手动映射",
  since: "按您的映射，差异始于 {{module}}",
  sinceOptimizer: "按您的映射，差异始于优化器",
  sinceWhat: "按测得的数值，{{call}} 最先不同（分数 {{score}}）。重新构建后重新诊断。",
  sinceSlide: "按测得的数值，最先不同（分数 {{score}}）",
  sinceNone: "没有分数超过 {{threshold}}。重新构建会重新比对并诊断全部。",
  sinceCauses: "映射改变之前找到的起因可能已不成立。请重新构建以找到成立的起因。",
  former: "在您的映射之前找到；可能已不成立。",
  formerUntouched: "在您的映射之前找到；其调用、对应调用与数值未变，但现在它之前已有差异。",
  formerStands: "在您的映射之前找到；您的映射未改动此调用、其对应调用与数值。",
  stands: "您的映射未改动此调用、其对应调用与数值，且它之前没有差异。",
  maybe: "可能已不成立。",
  formerListed_one: "之前找到的 {{count}} 个起因在列表中，可能已不成立。",
  formerListed_other: "之前找到的 {{count}} 个起因在列表中，可能已不成立。",
  worst_one: "{{over}} {{count}} 个节点超过 {{threshold}}，最差 {{worst}}；没有一个明显超出舍入与其输入所能引起的差异。",
  worst_other: "{{over}} {{count}} 个节点超过 {{threshold}}，最差 {{worst}}；没有一个明显超出舍入与其输入所能引起的差异。",
  listDivergent: "列出",
};
