"""What the table of compiled models says of an outcome."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from benchmarks.compiled.__main__ import told
from benchmarks.compiled.check import Outcome, accused
from builder.claim import Counted, Evidence, claim
from msprobe.compile_check import Answer
from msprobe.compile_check.results import Apart


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        (Outcome(0, 9, 5, 5), "bit-equal, 5 of 5 found, silent"),
        (Outcome(2, 9, 5, 5, "Torch.mul.0"), "2 of 9 changed, 5 of 5 found, Torch.mul.0 NAMED"),
        (Outcome(0, 9, 5, 5, way="Torch.mul.0"), "bit-equal, 5 of 5 found, another way"),
        (
            Outcome(0, 9, 4, 6, fused=2, less_exact=43.6),
            "bit-equal, 4 of 6 found (2 no tensors when compiled), gradients up to 44 times as far "
            "from float64 as eager's",
        ),
        (Outcome(failed="no graph"), "not checked: no graph"),
        (None, "not run"),
    ],
)
def test_an_outcome_is_told_in_a_few_words(outcome: Outcome | None, said: str) -> None:
    assert told(outcome) == said


@pytest.mark.parametrize(
    ("outcome", "is_good"),
    [
        (Outcome(0, 9, 61, 63, fused=2), True),
        (Outcome(0, 9, 61, 63), False),
        (Outcome(0, 9, 63, 63, less_exact=40.0), True),
        (Outcome(0, 9, 63, 63, "Torch.mul.0"), False),
        (Outcome(1, 9, 63, 63), False),
        (Outcome(0, 9, 0, 2, fused=2), False),
    ],
)
def test_what_is_no_tensor_when_compiled_cannot_be_found(outcome: Outcome, is_good: bool) -> None:
    assert outcome.is_good is is_good


def test_a_result_that_differs_is_no_silence_though_no_call_is_named() -> None:
    diagnosis: Any = SimpleNamespace(
        findings=[], named=[], claim=claim(Evidence((Counted("sketch", 3),)))
    )
    assert accused(Answer(diagnosis, Path(), 1, [], [], {})) == ""
    apart = (Apart("output 0", 0.5, None, diverges=True),)
    assert accused(Answer(diagnosis, Path(), 1, [], [], {}, apart=apart)) == "output 0"
    assert accused(Answer(diagnosis, Path(), 1, [], [], {}, ends=1)) == "equal"
