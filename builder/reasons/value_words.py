"""The sentences of what elements say beside statistics; a part of the table in `reason_words`."""

from __future__ import annotations

from collections.abc import Mapping

from builder.reasons.phrase_words import Words

VALUE_SENTENCES: Mapping[str, Words] = {
    "elements_differ": Words(
        "{value}: the four statistics agree within their tolerance, but the elements are "
        "off by about {error:apart}",
        "{value}：四个统计量在容差内一致，但元素相差约{error:apart}",
    ),
    "elements_differ_elements": Words(
        "{value}: the four statistics agree within their tolerance, but the elements are "
        "off by {error:apart}",
        "{value}：四个统计量在容差内一致，但元素相差{error:apart}",
    ),
    "elements_apart": Words(
        "{value}: its elements are off by about {error:apart}",
        "{value}：元素相差约{error:apart}",
    ),
    "elements_apart_elements": Words(
        "{value}: its elements are off by {error:apart}",
        "{value}：元素相差{error:apart}",
    ),
    "elements_apart_infinities": Words(
        "{value}: its infinities stand in other places; as marks they are off by at least "
        "{error:apart}",
        "{value}：无穷大的位置不同；以标记计至少相差{error:apart}",
    ),
    "elements_count": Words(
        "{value}: {count} of its {size} elements differ",
        "{value}：{size} 个元素中有 {count} 个不同",
    ),
    "statistics_agree": Words(
        "{value}: its statistics agree within their tolerance, only its elements do not",
        "{value}：统计量在容差内一致，只有元素不同",
    ),
    "extremes_agree": Words(
        "{value}: its elements differ; of statistics it has largest and smallest alone, and those "
        "agree",
        "{value}：元素不同；统计量只有最大值和最小值，二者一致",
    ),
    "unwritten": Words(
        "{value}: memory that nobody had written yet, which is not compared",
        "{value}：尚未写入的内存，不作比较",
    ),
    "fused": Words(
        "{value}: a compiler has fused it away, so it has no numbers to compare",
        "{value}：已被编译器融合，没有可比较的数值",
    ),
    "unread": Words(
        "{value}: the call does not read it (beta is 0), so it is not compared",
        "{value}：该调用不读取它（beta 为 0），不作比较",
    ),
    "incomparable": Words(
        "{value}: the frameworks record gradients of different things here, so it is not compared",
        "{value}：两个框架在此记录的梯度含义不同，不作比较",
    ),
}
