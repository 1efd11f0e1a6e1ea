"""What sentences of reasons are put together of, English and Chinese side by side."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Words(NamedTuple):
    """One sentence or phrase in both languages."""

    en: str
    zh: str


# `aside` is why a value was set aside, in the builder's words.
PHRASES: Mapping[str, Words] = {
    "comma": Words(", ", "、"),
    "attribute.value": Words("value", "数值"),
    "attribute.shape": Words("shape", "形状"),
    "none": Words("none", "无"),
    "oneRank": Words("one rank", "单张卡"),
    "notGiven": Words("not given", "未给出"),
    "untold": Words("NaN or Inf", "NaN 或 Inf"),
    "at": Words("{axis} {at} of {size}", "{axis} {at}（共 {size}）"),
    "more": Words("; and {more} more", "；另有 {more} 个"),
    "there": Words("; there: {name}", "；在该处名为 {name}"),
    "valueOf": Words("{value} of {at}", "{at} 的 {value}"),
    "argumentNamed": Words("{argument} ({value})", "{argument}（{value}）"),
    "before.nothing": Words(", and nothing before it explains that", "，此前没有任何差异能解释它"),
    "before.hardly": Words(
        ", and what differs before it explains less than 1 % of that",
        "，此前的差异只能解释其中不到 1%",
    ),
    "before.share": Words(
        ", and what differs before it explains {share:percent} of that",
        "，此前的差异能解释其中的 {share:percent}",
    ),
    "perhaps.maker": Words(
        "perhaps {maker}, which runs right before and left no values; if not, another call that "
        "is not recorded, or other data",
        "可能由紧邻其前、未留下数值的 {maker} 产生；若不是，则由其他未记录的调用产生，或两次运行的"
        "数据不同",
    ),
    "perhaps.unknown": Words(
        "another value may be passed here, it may be other data, or something that is made "
        "unrecorded, as masks and indices often are",
        "可能此处传入了另一个值，可能是数据不同，也可能由未记录的调用产生（掩码和索引常常如此）",
    ),
    "parts": Words(" ({fused} of them fused or in parts)", "（其中 {fused} 个为融合或拆分）"),
    "place": Words(" in step {step} rank {rank}", "第 {step} 步、卡 {rank} 的 "),
    "aside.rewritten": Words("values fit no layout", "数值不符合任何布局"),
    "aside.missing": Words("parts are missing", "缺少分片"),
    "aside.local": Words("local, as the layout file says", "按布局文件为本地值"),
    "aside.sizes": Words("sizes and groups of the layout", "布局本身的大小与通信组"),
    "aside.padding": Words("padding of the vocabulary", "词表填充"),
    "aside.own": Words("each rank's own choice", "各卡自己的选择"),
    "aside.shapes": Words("its shapes fit no layout", "形状不符合任何布局"),
    "notCounted": Words("an uncounted share", "未统计比例"),
    "sure.certain": Words("certain", "确定"),
    "sure.likely": Words("likely", "很可能"),
    "sure.possible": Words("possible", "可能"),
    "sure.told": Words("as --same says", "由 --same 指定"),
    "side.problem": Words("problem", "问题侧"),
    "side.benchmark": Words("benchmark", "标杆侧"),
}
