/* Chinese texts of the query over nodes; the keys are those of search.en.ts. */

import type { searchEn } from "./search.en";

export const searchZh: typeof searchEn = {
  label: "符合查询的节点",
  placeholder: "节点：softmax score>0.5  ( / )",
  placeholderSingle: "节点：conv backward  ( / )",
  language:
    "名称中的词（没有名称含有时，则为所在模块中的词）、/正则表达式/、\"两个 词\"、score>0.5 input<0.1 introduced>0.2、\nside:problem kind:api verdict:error overflow:high direction:forward、\nforward backward matched unmatched divergent overflow、\n-词 表示不含。各项须同时成立。",
  previous: "上一个符合的节点 (Shift+Enter)",
  next: "下一个符合的节点 (Enter)",
  count_one: "{{count}} 个节点",
  count_other: "{{count}} 个节点",
  position: "第 {{position}} 个，共 {{count}} 个",
  none: "没有节点同时符合查询的所有条件。",
  unknown: "此步与卡中没有名称或所在模块含“{{word}}”的节点。",
  nearest: "最接近的名称：",
  clear: "清除查询",
  refused: {
    no_number: "“{{term}}”没有可比较的数：请写成 score>0.5。",
    no_field: "没有“{{field}}:”这个字段：可用 side: kind: direction: verdict: overflow:。",
    no_choice: "没有“{{term}}”：可用 {{choices}}。",
    no_expression: "“{{pattern}}”不是正则表达式（{{error}}）。",
    too_slow: "“{{pattern}}”耗时过长：请简化，或只写普通的词。",
    too_large: "“{{pattern}}”过大（{{error}}）：请减少重复次数，或只写普通的词。",
    unsupported: "“{{pattern}}”用了不支持的语法（{{error}}）：前瞻、后顾、对分组的引用等都不支持。",
    no_engine: "服务器没有安装 google-re2，不能按正则表达式搜索：请只写普通的词。",
  },
};
