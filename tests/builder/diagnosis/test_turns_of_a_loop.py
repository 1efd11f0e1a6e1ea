"""A line that a loop runs again and again with values that nobody made is one cause, every turn."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import torch

import builder
from builder.results.followers.spread import shares_of
from builder.results.followers.step import step_followers
from builder.results.open_results import open_results
from msprobe.pytorch import PrecisionDebugger

# One flag in most turns: the numbers of the flags, but for their places, are equal in both runs.
ENDS = [torch.eye(5)[turn % 5] for turn in range(6)]


def recorded(folder: Path, back: int) -> Path:
    torch.manual_seed(0)
    values = torch.randn(6, 5)
    debugger = PrecisionDebugger(dump_path=str(folder), level="L1")
    with debugger.recording():
        running = torch.zeros(5)
        for turn in range(6):
            alive = 1 - ENDS[turn - back]
            running = values[turn] + alive * running
        running.sum()
    debugger.close()
    return folder


def test_every_turn_is_a_place_and_all_that_differs_goes_back(tmp_path: Path) -> None:
    ours, theirs = recorded(tmp_path / "a", back=1), recorded(tmp_path / "b", back=0)
    built = builder.build(ours, theirs, tmp_path / "o")
    (finding,) = built.findings
    turns = [finding.name, *(place.name for place in finding.places)]
    assert turns == [f"Tensor.__rsub__.{turn}.forward" for turn in range(1, 6)]
    with closing(open_results(built.path)) as results:
        shares = shares_of(step_followers(results, 0, 0))
    assert (shares.others, shares.perhaps) == (0, 0)
