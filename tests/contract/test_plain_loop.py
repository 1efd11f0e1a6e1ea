"""A plain loop needs two lines more: the debugger, and a `with` around the body of the step."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from msprobe.pytorch import PrecisionDebugger
from tests.contract.conftest import SmallModel, dumped

IDS, POSITIONS = torch.tensor([1, 2, 3]), torch.arange(3)


def test_two_lines_record_every_step(model: SmallModel, tmp_path: Path) -> None:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    debugger = PrecisionDebugger(dump_path=tmp_path, level="mix")
    for _ in range(2):
        with debugger.recording(model):
            model(IDS, POSITIONS).square().mean().backward()
            optimizer.step()
    found = dumped(tmp_path)
    assert [rank.step for rank in found.ranks] == [0, 1]
    assert {rank.level for rank in found.ranks} == {"mix"}


def test_error_in_the_body_passes_and_the_step_is_readable(
    model: SmallModel, tmp_path: Path
) -> None:
    debugger = PrecisionDebugger(dump_path=tmp_path, level="mix")
    with pytest.raises(IndexError), debugger.recording(model):
        model(IDS + 100, POSITIONS)
    assert len(dumped(tmp_path).ranks) == 1
