"""The core of the situations: recorded, they compute the same bits and nothing is left behind."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import benchmarks.situations.families  # noqa: F401 - lists them
from benchmarks.situations.followers import BESIDE
from benchmarks.situations.run import run_situation
from benchmarks.situations.situation import SITUATIONS

CORE = [each for each in SITUATIONS.values() if each.core]
SPECS = (("L0", "statistics"), ("mix", "statistics"))


def test_there_are_as_many_as_promised() -> None:
    assert len(SITUATIONS) >= 140
    assert sum(each.later for each in SITUATIONS.values()) >= 45
    assert len(CORE) >= 40


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [each.name for each in CORE])
def test_a_recording_leaves_no_trace(name: str, tmp_path: Path) -> None:
    torch.set_num_threads(1)
    situation = SITUATIONS[name]
    beside = tuple((each, "") for each in BESIDE) if situation.later else ()
    for outcome in run_situation(situation, tmp_path, SPECS + beside):
        assert outcome.differs == [] and outcome.left == [] and outcome.broken == []
        assert outcome.wrong == []
        if not situation.without_numbers:
            assert outcome.without_numbers == 0, outcome.examples
