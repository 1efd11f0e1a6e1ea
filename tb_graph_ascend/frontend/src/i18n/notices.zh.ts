/* Chinese texts of the line at the lower edge; the keys are those of notices.en.ts. */

import type { noticesEn } from "./notices.en";

export const noticesZh: typeof noticesEn = {
  noWay: "先选择一行：路径从起因通向它。",
  noWayHere: "此处没有已知的差异，没有从起因通向它的路径。",
  wayBegins: "差异始于此处：请选择随之不同的一行以查看路径。",
  noFindings: "此比对中没有差异。",
  notHere: "当前步与卡没有此节点。",
  selectionLost: "已切换到此步与卡；未能在其中查找所选的行，因此没有选中任何行。",
  rebuilt: "链接生成后此文件已重新构建，所选节点可能已变化。",
  matched_one: "{{name}} 已与 {{partner}} 匹配。此处有 {{count}} 个节点没有对应节点：查询 unmatched 可列出。",
  matched_other: "{{name}} 已与 {{partner}} 匹配。此处有 {{count}} 个节点没有对应节点：查询 unmatched 可列出。",
  pickNothing: "请先选择仅一侧有的行，再按 M 映射。",
  notMappable: "只有调用和模块可以映射。",
  picked: "已选中$t(side.{{side}})的 {{name}}。请到$t(side.{{other}})选中对应的行，再按 M；Esc 放弃。",
  mapped_one: "已映射 {{problem}} ↔ {{benchmark}}：重新度量了 {{count}} 个节点。Ctrl+Z 撤销。",
  mapped_other: "已映射 {{problem}} ↔ {{benchmark}}：重新度量了 {{count}} 个节点。Ctrl+Z 撤销。",
  mappedAll_one: "已映射全部建议：重新度量了 {{count}} 个节点。Ctrl+Z 撤销。",
  mappedAll_other: "已映射全部建议：重新度量了 {{count}} 个节点。Ctrl+Z 撤销。",
  replaced: "此结果文件已被替换，现在显示的是新文件。",
  undone_one: "已撤销：{{count}} 个节点恢复原状。",
  undone_other: "已撤销：{{count}} 个节点恢复原状。",
  redone_one: "已重新映射：重新度量了 {{count}} 个节点。",
  redone_other: "已重新映射：重新度量了 {{count}} 个节点。",
  notMapped: "未映射：{{reason}}。",
  noProposals: "此处没有看起来相同的未匹配模块。请手动选两个：选中后按 M。",
  noPairs: "还没有手动映射，无从重新构建。",
  pairsUnsaved: "文件夹不可写，重新构建时用不到这些映射。请下载映射文件并使用 --manual_mapping。",
  readOnly: "此服务以只读方式启动，不能映射。",
  saved: "已保存 {{name}}。",
  linkCopied: "已复制当前视图的链接。",
};
