/* Chinese words inside the facts of reasons; the keys are those of facts.en.ts. */

import type { factsEn } from "./facts.en";

export const factsZh: typeof factsEn = {
  none: "无",
  oneRank: "单张卡",
  at: "{{axis}} {{at}}（共 {{size}}）",
  more: "；另有 {{more}} 个",
  there: "；在该处名为 {{name}}",
  aside: {
    rewritten: "位于布局改写的部分之内",
    missing: "缺少分片",
    local: "按布局文件为本地值",
    sizes: "布局本身的大小与通信组",
    padding: "词表填充",
    shapes: "形状不符合任何布局",
  },
};
