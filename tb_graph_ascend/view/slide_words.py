"""What the slide says besides names and numbers, in the languages of the interface."""

from __future__ import annotations

import msgspec

from builder.claim_words import Language
from builder.results.extent import Formats
from tb_graph_ascend.view.diff.words import Word


class SlideWords(msgspec.Struct, frozen=True):
    """The words of one language; names in braces are filled in."""

    since: str
    since_in_optimizer: str
    since_differs: str
    not_diagnosed: str
    place: str
    backward: str
    seen: str
    seen_on_one: str
    led_back: str
    led_back_all: str
    led_back_perhaps: str
    source: str
    formats: str
    compared: str
    few_shared: str
    worst: str
    problem: str
    benchmark: str
    sides: dict[str, str]
    gap: str
    calls: str
    score: str
    scale: str
    built: str
    rows: dict[str, str]

    def of(self, word: Word) -> str:
        """What stands beside a row."""
        return self.rows.get(word, "")


WORDS: dict[Language, SlideWords] = {
    "en": SlideWords(
        since="With pairs made by hand it begins in {module}",
        since_in_optimizer="With pairs made by hand it begins in the optimizer",
        since_differs="the first that differs, by what was measured",
        not_diagnosed="not diagnosed anew since",
        place="step {step} · rank {rank}",
        backward="backward",
        seen="in {places} places on {ranks} ranks, from step {step}",
        seen_on_one="in {places} places on this rank, from step {step}",
        led_back="{count} of {divergent} divergent nodes there trace back to it",
        led_back_all="all {count} divergent nodes there trace back to it",
        led_back_perhaps=", {count} more perhaps",
        source="{line} in {function}",
        formats=(
            "though of {total} matched calls that put out floats the {coarser} run computes "
            "{calls} in {coarse}, the {finer} run in {fine}; the tolerance is that of the coarser"
        ),
        compared=(
            "{matched} nodes matched in {pairs} steps and ranks; {unmatched} have no partner, "
            "{failed} steps and ranks failed"
        ),
        few_shared="These runs share {share} % of their calls by name",
        worst="{divergent} nodes are above {threshold:g}, worst {worst:.2f}",
        problem="PROBLEM",
        benchmark="BENCHMARK",
        sides={"problem": "problem", "benchmark": "benchmark"},
        gap="not in this run",
        calls="{count} calls",
        score="score",
        scale="0 = rounding, 1 = 100 % error, log scale;  inputs → output",
        built="compared {date}, version {version}",
        rows={
            "agrees": "agrees",
            "close": "close",
            "carries": "carries",
            "differs": "differs",
            "begins": "BEGINS",
            "heals": "another way",
            "only_inputs": "inputs only",
            "cannot_tell": "cannot tell",
            "only_problem": "only problem",
            "only_benchmark": "only benchmark",
        },
    ),
    "zh": SlideWords(
        since="按手动映射，差异始于 {module}",
        since_in_optimizer="按手动映射，差异始于优化器",
        since_differs="按测得的数值，最先不同的调用",
        not_diagnosed="此后未重新诊断",
        place="第 {step} 步 · 卡 {rank}",
        backward="反向",
        seen="{ranks} 张卡上共 {places} 处，自第 {step} 步起",
        seen_on_one="本卡上 {places} 处，自第 {step} 步起",
        led_back="该处 {divergent} 个有差异的节点中 {count} 个可追溯到它",
        led_back_all="该处全部 {count} 个有差异的节点都可追溯到它",
        led_back_perhaps="，另有 {count} 个可能追溯到它",
        source="{line}，在 {function} 中",
        formats=(
            "但输出浮点数的 {total} 个已匹配调用中有 {calls} 个{coarser}以 {coarse} 计算，"
            "{finer}以 {fine} 计算；容差按较粗的格式"
        ),
        compared=(
            "匹配了 {pairs} 组步与卡的 {matched} 个节点；{unmatched} 个没有对应节点，"
            "{failed} 组失败"
        ),
        few_shared="两次运行只有 {share}% 的调用同名",
        worst="{divergent} 个节点超过 {threshold:g}，最差 {worst:.2f}",
        problem="问题侧",
        benchmark="标杆侧",
        sides={"problem": "问题侧", "benchmark": "标杆侧"},
        gap="此次运行没有",
        calls="{count} 个调用",
        score="分数",
        scale="0 = 舍入，1 = 误差 100%，对数刻度；  输入 → 输出",
        built="比对于 {date}，版本 {version}",
        rows={
            "agrees": "一致",
            "close": "接近",
            "carries": "延续",
            "differs": "不同",
            "begins": "始于此处",
            "heals": "另一种算法",
            "only_inputs": "仅输入可比",
            "cannot_tell": "无法判断",
            "only_problem": "仅问题侧有",
            "only_benchmark": "仅标杆侧有",
        },
    ),
}


def formats_worded(formats: Formats, words: SlideWords) -> str:
    """That the two runs compute in two formats."""
    finer = "benchmark" if formats.coarser == "problem" else "problem"
    facts = {**msgspec.structs.asdict(formats), "coarser": words.sides[formats.coarser]}
    return words.formats.format(finer=words.sides[finer], **facts)
