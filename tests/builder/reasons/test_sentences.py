"""What sentences make of their numbers, in both languages, and that every reason has one."""

from __future__ import annotations

from string import Formatter
from typing import get_args

import msgspec
import pytest

from builder.reasons import (
    ArgumentDiffers,
    AttributeDiffers,
    ErrorOf,
    Explained,
    Fact,
    Introduced,
    MergedValues,
    NormErrorGrows,
    OnRanks,
    RankReason,
    Reason,
    Surplus,
    TwoImplementations,
    UnrecordedDiffers,
    sentence,
    sentences,
)
from builder.reasons.phrase_words import PHRASES
from builder.reasons.rank_words import RANK_SENTENCES
from builder.reasons.reason_words import SENTENCES
from builder.reasons.sentences import apart, factor, percent

REASONS: tuple[type[Fact], ...] = (*get_args(Reason), *get_args(RankReason))
ALL_SENTENCES = {**SENTENCES, **RANK_SENTENCES}
# What sentences may hold beside the fields: clauses that are made of them.
CLAUSES = {"before", "parts", "perhaps", "place"}


def code_of(reason: type[Fact]) -> str:
    return str(reason.__struct_config__.tag)


def leaves(kind: type[Fact]) -> set[type[Fact]]:
    below = kind.__subclasses__()
    return {leaf for one in below for leaf in leaves(one)} if below else {kind}


def fields(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name}


def test_the_union_has_all_reasons() -> None:
    assert leaves(Fact) == set(REASONS)
    assert len({code_of(reason) for reason in REASONS}) == len(REASONS)


@pytest.mark.parametrize("reason", REASONS, ids=code_of)
def test_every_reason_has_sentences_of_its_own_fields(reason: type[Fact]) -> None:
    known = {field.name for field in msgspec.structs.fields(reason)} | CLAUSES
    own = [words for code, words in ALL_SENTENCES.items() if code.startswith(code_of(reason))]
    english, chinese = ALL_SENTENCES[code_of(reason)]
    assert own and fields(english) == fields(chinese) <= known


def test_every_sentence_is_of_a_reason() -> None:
    kinds = get_args(ErrorOf)
    codes = {code_of(reason) for reason in REASONS}
    extra = [code for code in ALL_SENTENCES if code not in codes]
    assert {code.rpartition("_")[0] for code in extra} <= codes
    assert {code.rpartition("_")[2] for code in extra} <= {*kinds, "factor", "calls", "evaluation"}


@pytest.mark.parametrize("name", PHRASES)
def test_phrases_hold_the_same_in_both_languages(name: str) -> None:
    english, chinese = PHRASES[name]
    assert fields(english) == fields(chinese)


@pytest.mark.parametrize(
    ("share", "shown", "chinese"),
    [
        (0.5, "50.0%", " 50.0%"),
        (0.001, "0.1%", " 0.1%"),
        (8.2e-5, "0.0082%", " 0.0082%"),
        (9.99, "999.0%", " 999.0%"),
        (40.0, "40 times the benchmark", " 40 倍"),
        (999.9, "1 thousand times the benchmark", " 1000 倍"),
        (3.06e9, "3.1 billion times the benchmark", " 31亿倍"),
        (2.0e20, "2.0e+20 times the benchmark", " 2.0e+20 倍"),
    ],
)
def test_a_share_is_neither_rounded_away_nor_thirteen_digits_long(
    share: float, shown: str, chinese: str
) -> None:
    assert (apart(share), apart(share, "zh")) == (shown, chinese)
    said = sentence(Explained("output.0", share, 0.0))
    assert said == f"output.0 is off by {shown}, and nothing before it explains that"
    assert percent(0.0) == "0.0%"


def test_evidence_ends_before_what_its_call_explains() -> None:
    """That nothing explains it would contradict the call told above; a share stays."""
    alone, shared = Explained("output.0", 0.3, 0.0), Explained("output.0", 0.3, 0.1)
    argument = ArgumentDiffers("input.1", "0.5", "1.0")
    assert sentences([argument, alone])[1] == "output.0 is off by 30.0%"
    assert sentences([argument, alone], "zh")[1] == "output.0 相差 30.0%"
    assert sentences([argument, shared])[1].endswith("explains 33.3% of that")
    made = Introduced("output.0", 0.0, 0.9)
    assert sentences([made, alone])[1].endswith(", and nothing before it explains that")
    assert sentences([alone, argument])[0] == sentence(alone)


def test_weights_that_are_neither_fused_nor_in_parts_are_not_counted() -> None:
    assert "by their values, 76 modules" in sentence(TwoImplementations(98, 98, 0, 76))
    some = TwoImplementations(98, 98, 3, 76)
    assert "by their values (3 of them fused or in parts), 76" in sentence(some)
    assert "98/98 个权重（其中 3 个为融合或拆分），76 个模块" in sentence(some, "zh")


def test_programs_without_recorded_modules_are_told_of_by_their_calls() -> None:
    told = TwoImplementations(44, 44, 0, 72, "calls")
    assert ", 72 calls correspond and are compared, with what they read from" in sentence(told)
    assert "72 个调用相互对应并作比较，包括它们从其余调用" in sentence(told, "zh")
    assert "module" not in sentence(told)


def test_an_estimate_is_about_and_a_measured_number_is_not() -> None:
    def told(explained: float = 0.03, of: str | None = None) -> str:
        return sentence(Explained("output.0", 0.3, explained, of))  # type: ignore[arg-type]

    assert told().startswith("output.0 is off by 30.0%, and what differs before it")
    assert told().endswith("explains 10.0% of that")
    assert "by about 30.0%" in told(of="sketch")
    assert "about" not in told(of="elements")
    assert told(of="norm").startswith("the norm of output.0 is off by 30.0%")
    assert told(1e-6).endswith("less than 1 % of that")


def test_a_value_of_another_call_says_whose_it_is() -> None:
    said = sentence(Explained("input.0", 0.3, 0.0, "sketch", "Torch.lerp_.0.forward"))
    assert said.startswith("input.0 of Torch.lerp_.0.forward is off by about 30.0%")


def test_chinese_has_no_english_words_of_the_builder_left() -> None:
    where = "tp 0 of 2; tp 1 of 2; and 6 more"
    told = sentence(OnRanks("0, 1", where, "; there: Module.a.forward.0", "a"), "zh")
    assert "tp 0（共 2）; tp 1（共 2）；另有 6 个" in told
    assert "；在该处名为 Module.a.forward.0" in told
    values = MergedValues(9, 1, 2, 3, "parts are missing: 3")
    assert "缺少分片: 3" in sentence(values, "zh")
    assert sentence(Surplus("output.1", "problem"), "zh") == "output.1：只存在于问题侧"
    assert "形状" in sentence(AttributeDiffers("output.1", "shape", "[1]", "[2]"), "zh")
    assert "triu" in sentence(UnrecordedDiffers("input.1", 0.9, "Tensor.triu.0.forward"), "zh")


def test_a_measure_that_json_has_as_null_is_said() -> None:
    assert "norm NaN or Inf, more" in sentence(NormErrorGrows("output.0", None))


def test_a_factor_is_as_short_as_it_is_and_that_of_a_loss_scale_whole() -> None:
    factors = (256.0, 1.1, 2.8284, 65536.0, -1.0, 0.0, 1 / 256)
    told = ["256", "1.1", "2.83", "65536", "-1", "0", "0.00391"]
    assert [factor(times) for times in factors] == told
