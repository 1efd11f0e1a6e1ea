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
        (Outcome(failed="no graph"), "not checked: no graph"),
        (None, "not run"),
    ],
)
def test_an_outcome_is_told_in_a_few_words(outcome: Outcome | None, said: str) -> None:
    assert told(outcome) == said


def test_a_result_that_differs_is_no_silence_though_no_call_is_named() -> None:
    diagnosis: Any = SimpleNamespace(
        findings=[], named=[], claim=claim(Evidence((Counted("sketch", 3),)))
    )
    assert accused(Answer(diagnosis, Path(), 1, [], [], {})) == ""
    apart = (Apart("output 0", 0.5, None, diverges=True),)
    assert accused(Answer(diagnosis, Path(), 1, [], [], {}, apart=apart)) == "output 0"
    assert accused(Answer(diagnosis, Path(), 1, [], [], {}, ends=1)) == "equal"
