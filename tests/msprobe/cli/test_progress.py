"""What is said of each pair while a build goes on."""

from __future__ import annotations

import io

import pytest

from builder.work.outcome import PairOutcome
from msprobe.cli.progress import Progress


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        (
            PairOutcome(0, 3, matched=5, unmatched_problem=1, unmatched_benchmark=2),
            "5 nodes matched, 3 not",
        ),
        (PairOutcome(0, 3, unmatched_problem=2), "0 nodes matched, 2 not"),
        (PairOutcome(0, 3), "read"),
        (PairOutcome(0, 3, error="no\nroom"), "failed: no room"),
    ],
)
def test_a_line_a_pair(outcome: PairOutcome, said: str) -> None:
    stream = io.StringIO()
    Progress(stream)(1, 2, outcome)
    assert stream.getvalue() == f"[1/2] step 0 rank 3: {said}\n"
