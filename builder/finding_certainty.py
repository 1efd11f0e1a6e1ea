"""How sure a finding is: a word, and the evidence that it follows from.

One rule gives the word (`certainty_of`); docs/diagnosis.md says how often findings of each word
were right in recorded pairs. Of a file of an earlier release, which has neither, nothing is said.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias

import msgspec

from builder.claim_words import Language
from builder.reasons import (
    AttributeDiffers,
    Drift,
    Explained,
    FirstInexact,
    FusedAway,
    GradientsCleared,
    GradientsKept,
    HandsOn,
    HiddenByInfinity,
    InputDiffers,
    IntegersDiffer,
    Introduced,
    IntroducedBeyond,
    NonfiniteMade,
    Reason,
    Rewritten,
    RewrittenOn,
    RewrittenThere,
    UnrecordedDiffers,
    UpdatedAlone,
    do_heal,
)
from builder.reasons.first_reasons import CALLED, tells_of_calls

CertaintyWord: TypeAlias = Literal["certain", "likely", "possible"]
# What a finding rests on, the surest first: elements, or what is equal to the last digit or not;
# how both dumps say that it is called, with elements that differ behind it; sketches of elements;
# which parameters optimizers update, and which values want gradients; those at the edges of modules
# of two programs, or at calls of theirs that correspond; statistics alone, by scores; a way or a
# match that nobody recorded. What heals rests on what comes of it.
Basis: TypeAlias = Literal[
    "measured",
    "called",
    "recorded",
    "estimated",
    "edges",
    "paired_calls",
    "scores",
    "guessed",
    "healed",
]


class Certainty(msgspec.Struct, frozen=True):
    """How sure a finding is.

    It stands `behind` where another finding comes before it, which may explain it on ways that
    nobody recorded.
    """

    word: CertaintyWord
    basis: Basis
    behind: bool


# What makes the value, or hands it on, was not recorded: the node named stands beside it.
_GUESSED = (UnrecordedDiffers, HandsOn, HiddenByInfinity, FusedAway, InputDiffers)
# Scores grow from what goes in to what comes out, as rounding grows too.
_GROWN = (Introduced, IntroducedBeyond, Drift, FirstInexact)
# Equal to the last digit or not: nothing is estimated in that.
_EXACT = (
    GradientsCleared,
    GradientsKept,
    Rewritten,
    RewrittenOn,
    RewrittenThere,
    IntegersDiffer,
    NonfiniteMade,
)


def basis_of(
    reasons: Sequence[Reason],
    *,
    by_scores: bool,
    is_guess: bool = False,
    across: Literal["edges", "paired_calls"] | None = None,
    by_elements: bool = False,
) -> Basis:
    """What a finding rests on; `is_guess` where its node was matched by likeness.

    `across` two programs of one model it says where they are held against one another: at the edges
    of modules, or at calls that correspond. `by_elements` tensors were dumped whole.
    """
    first = reasons[0]
    if isinstance(first, _EXACT):
        return "measured"
    if is_guess or isinstance(first, _GUESSED):
        return "guessed"
    if by_scores:
        return "scores"
    if across is not None:
        return across
    if isinstance(first, UpdatedAlone) or _wants_a_gradient(first):
        return "recorded"
    if tells_of_calls(reasons):
        return "called"
    evidence = next((reason for reason in reasons if isinstance(reason, Explained)), None)
    is_whole = by_elements if evidence is None else evidence.of in ("elements", None)
    return "measured" if is_whole else "estimated"


def _wants_a_gradient(reason: Reason) -> bool:
    return isinstance(reason, AttributeDiffers) and reason.attribute == "requires_grad"


def certainty_of(reasons: Sequence[Reason], basis: Basis, *, behind: bool) -> Certainty:
    """How sure a finding on a basis is, `behind` another one or not.

    `certain`: distances were seen, and no other cause comes before. `likely`: something of that is
    missing, and both dumps say where the node is called or fed otherwise. `possible`: what is left,
    as a score that grows, which may have grown by rounding. Of what heals it is said that nothing
    comes of it, which was compared, whatever stands before it.
    """
    if do_heal(reasons):
        return Certainty("certain", "healed", behind=False)
    return Certainty(_word(reasons[0], basis, behind=behind), basis, behind)


def _word(first: Reason, basis: Basis, *, behind: bool) -> CertaintyWord:
    is_seen = basis in ("measured", "called", "recorded", "estimated")
    if is_seen and not behind:
        return "certain"
    if behind:
        return "likely" if is_seen and isinstance(first, CALLED) else "possible"
    return "possible" if basis == "scores" and isinstance(first, _GROWN) else "likely"


class Words(NamedTuple):
    """One phrase in both languages."""

    en: str
    zh: str


# The page has these from `make messages`.
CERTAINTY_WORDS: Mapping[str, Words] = {
    "word.certain": Words("certain", "确定"),
    "word.likely": Words("likely", "很可能"),
    "word.possible": Words("possible", "可能"),
    "basis.measured": Words(
        "what differs was measured exactly, not estimated",
        "差异为精确测得，并非估计",
    ),
    "basis.called": Words(
        "both recordings say what is called and with what, and the values after it differ",
        "两次运行都记录了调用了什么、以什么参数调用，且其后的值不同",
    ),
    "basis.recorded": Words(
        "both recordings say so, whatever numbers there are",
        "两次运行的记录都说明了这一点，与数值无关",
    ),
    "basis.estimated": Words(
        "compared by projections of all elements, which differ by more than rounding (errors "
        "given are right within a factor of 2)",
        "由全部元素的投影比对，相差超出舍入范围（所给误差在 2 倍以内准确）",
    ),
    "basis.edges": Words(
        "two programs were compared at the edges of their modules, not inside",
        "两个程序只在模块边界处比对，未比对内部",
    ),
    "basis.paired_calls": Words(
        "two programs were compared at the calls that correspond, not in between",
        "两个程序只在相互对应的调用处比对，未比对其间的部分",
    ),
    "basis.scores": Words(
        "based on statistics only; elements were not compared", "仅由统计量得出，未见元素"
    ),
    "basis.guessed": Words(
        "what makes this value left none to compare, in one run or in both",
        "产生此值的调用在一侧或两侧运行中没有留下可比对的数值",
    ),
    "basis.healed": Words(
        "what the run puts out in the end was compared, and agrees",
        "已比对运行最终给出的结果，二者一致",
    ),
    # No word of explaining: the evidence beside it tells what explains it of all that is recorded.
    "behind": Words(
        "another cause comes before it, and a way from that one to here may be unrecorded",
        "之前另有原因，二者之间可能有未记录的路径",
    ),
    "told": Words("{word}: {why}", "{word}：{why}"),
    "and": Words("; ", "；"),
    "untold": Words(
        "how sure it is, this file does not say: it was built by an earlier release",
        "此文件由较早版本生成，未说明确定程度",
    ),
}


def certainty_told(certainty: Certainty | None, language: Language = "en") -> str:
    """How sure a finding is, and why, in one line without its full stop."""

    def words(name: str) -> str:
        return str(getattr(CERTAINTY_WORDS[name], language))

    if certainty is None:
        return words("untold")
    why = words(f"basis.{certainty.basis}")
    if certainty.behind:
        why = words("and").join((why, words("behind")))
    return words("told").format(word=words(f"word.{certainty.word}"), why=why)
