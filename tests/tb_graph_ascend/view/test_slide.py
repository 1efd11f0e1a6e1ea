"""The picture of the answer says all of its sentence, in numbers that people read."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from builder.claim_words import Language
from builder.dump.stack_frames import telling_frame
from builder.reasons import (
    AttributeDiffers,
    ElementsMoved,
    ExtraCalls,
    InputDiffers,
    MeasureTaken,
    NormErrorGrows,
    Reason,
    Rewired,
)
from builder.reasons.beginning_words import BEGINNINGS
from tb_graph_ascend.view.slide import _begins, _called, _sentences, worded
from tb_graph_ascend.view.slide_words import WORDS


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (0.08838834764831845, "out: loss 0.0884"),
        ("0.08838834764831845", "out: loss 0.08839"),
        (3, "out: loss 3"),
    ],
)
def test_numbers_have_few_digits(number: float | str, said: str) -> None:
    assert worded(MeasureTaken("out", "loss", number), "en") == said


def test_numbers_that_four_digits_would_make_equal_have_as_many_as_tell_them_apart() -> None:
    reason = AttributeDiffers("input.1", "value", "1.0000012345678", "1.0000019345678")
    said = worded(reason, "en")
    assert "1.0000012 here and 1.0000019" in said


def test_a_sentence_that_rounds_itself_still_does() -> None:
    said = worded(NormErrorGrows("output.0", 0.123456789), "en")
    assert said.startswith("output.0: relative error of the norm 0.123,")


def test_a_headline_says_what_is_in_the_backward_pass() -> None:
    """Of a gradient, and of a call that a backward makes, whose own name does not tell it."""

    def told(direction: str, recomputed: bool) -> str:
        node: Any = SimpleNamespace(direction=direction, recomputed=recomputed, kind="module")
        finding: Any = SimpleNamespace(kind="introduced", reasons=[], node=node)
        return _sentences(finding, "en", whole=False)[0]

    assert told("forward", recomputed=False) == "It begins in {module}"
    backward = "It begins in the backward pass of {module}"
    assert told("backward", recomputed=False) == told("forward", recomputed=True) == backward


@pytest.mark.parametrize(
    ("kind", "reason", "told"),
    [
        ("module", InputDiffers("input.0", 0.9), "It begins before {module}"),
        ("api", ElementsMoved("input.0", "a"), "It begins before tanh #0 in {module}"),
        ("module", Rewired("input.0", 0.9, "a", "b"), "It begins in {module}"),
        ("module", ExtraCalls("a"), "It begins in {module}"),
    ],
)
def test_a_headline_says_that_what_is_only_fed_otherwise_is_not_the_place(
    kind: str, reason: Reason, told: str
) -> None:
    node: Any = SimpleNamespace(
        direction="forward",
        recomputed=False,
        kind=kind,
        name="Torch.tanh.0.forward",
        label="tanh",
    )
    finding: Any = SimpleNamespace(kind="input_differs", reasons=[reason], node=node)
    assert _sentences(finding, "en", whole=False)[0] == told


@pytest.mark.parametrize(
    ("language", "function", "told"),
    [
        ("en", "step", "It begins in step (train.py, line 14)"),
        ("en", "<module>", "It begins in train.py, line 14"),
        ("en", "<lambda>", "It begins in train.py, line 14"),
        ("en", None, "It begins in the script, outside of all modules"),
        ("zh", "step", "差异始于 step（train.py 第 14 行）"),
        ("zh", "<module>", "差异始于 train.py 第 14 行"),
        ("zh", None, "差异始于 脚本（不在任何模块中）"),
    ],
)
def test_what_the_script_does_is_named_by_its_line(
    language: Language, function: str | None, told: str
) -> None:
    stack = [f"File /job/train.py, line 14, in {function}, \n loss = loss * 2"]
    places = (BEGINNINGS["in.module"], BEGINNINGS["in.optimizer"])
    words = getattr(places[0], language), getattr(places[1], language)
    assert _begins(None, telling_frame(stack if function else []), words, language) == told


def test_a_module_with_a_bare_number_is_called_by_more_of_its_path() -> None:
    def called(name: str, label: str) -> str:
        node: Any = SimpleNamespace(name=name, label=label, direction="forward", kind="module")
        return _called(node, WORDS["en"])

    assert called("Module.net.up.2.Block.forward.0", "2") == "up.2"
    assert called("Module.layers.1.mlp.MLP.forward.0", "mlp") == "mlp"
