"""Gradient accumulation on one process against the whole batch at once, recorded for real."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import torch
from torch import nn

from builder import BuildOptions, build, diagnose
from builder.ranks.merge_options import MergeOptions
from builder.work.accumulation import divides_batch
from msprobe_core import PrecisionDebugger


def _train(root: Path, pieces: int, scale: float = 1.0) -> Path:
    """A step of a small network over a batch of 8 rows in so many pieces."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    batch, target = torch.randn(8, 6), torch.randn(8, 3)
    config = root.with_suffix(".json")
    config.write_text(json.dumps({"task": "statistics", "level": "mix"}))
    debugger = PrecisionDebugger(str(config), dump_path=str(root))
    debugger.start(model, rank_id=0)
    for rows, wanted in zip(batch.chunk(pieces), target.chunk(pieces), strict=True):
        (nn.functional.mse_loss(model(rows), wanted) * scale / pieces).backward()
    optimizer.step()
    debugger.stop()
    debugger.step()
    debugger.close()
    return root


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    return _train(tmp_path / "whole", 1)


def _compared(problem: Path, benchmark: Path, **merging: str) -> tuple[list[str], dict[str, int]]:
    options = BuildOptions(workers=1, merging=MergeOptions(**merging))  # type: ignore[arg-type]
    made = build(problem, benchmark, problem.parent / "out", options)
    assert [outcome.error for outcome in made.outcomes] == [None]
    return [finding.node for finding in diagnose(made.path).findings], made.values


@pytest.mark.parametrize("pieces", [2, 4])
def test_pieces_of_one_process_are_joined_and_agree(
    pieces: int, whole: Path, tmp_path: Path
) -> None:
    problem = _train(tmp_path / "pieces", pieces)
    for sides in ((problem, whole), (whole, problem)):
        findings, values = _compared(*sides)
        assert findings == []
        assert values["compared"] > 20
        assert values.get("set_aside", 0) <= 0.05 * values["compared"]


def test_a_loss_that_is_not_divided_is_found(whole: Path, tmp_path: Path) -> None:
    findings, _ = _compared(_train(tmp_path / "pieces", 4, scale=4.0), whole)
    assert findings


def test_only_the_same_rows_are_joined(whole: Path, tmp_path: Path) -> None:
    problem = _train(tmp_path / "pieces", 4)
    place = problem / "step0" / "rank0"
    other = whole / "step0" / "rank0"
    assert divides_batch(place, other)
    assert not divides_batch(place, place)
    dump = json.loads((place / "dump.json").read_text())
    for name, entry in dump["data"].items():
        if name.startswith("Module.") and ".forward." in name:
            entry["input_args"][0]["shape"][0] = 1  # four tokens one by one are no four pieces
    (place / "dump.json").write_text(json.dumps(dump))
    assert not divides_batch(place, other)
    (place / "construct.json").unlink()
    assert not divides_batch(place, other)


def test_off_is_off(whole: Path, tmp_path: Path) -> None:
    findings, values = _compared(_train(tmp_path / "pieces", 2), whole, merge="off")
    assert findings
    assert not values


def test_planning_does_not_drink_from_a_pipe(whole: Path, tmp_path: Path) -> None:
    rank = next((_train(tmp_path / "pieces", 2) / "step0").iterdir())
    (rank / "construct.json").unlink()
    os.mkfifo(rank / "construct.json")
    assert not divides_batch(rank, next((whole / "step0").iterdir()))
