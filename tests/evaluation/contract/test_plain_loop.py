"""A plain loop needs two lines more: the debugger, and a `with` around the body of the step."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest
import torch

from msprobe.pytorch import PrecisionDebugger
from tests.evaluation.contract.conftest import SmallModel, dumped
from tests.msprobe_core.dump_reading import read_rank_dumps

IDS, POSITIONS = torch.tensor([1, 2, 3]), torch.arange(3)


def train(model: SmallModel, debugger: PrecisionDebugger | None) -> list[torch.Tensor]:
    """Two steps, recorded or not; the parameters afterwards."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step() -> None:
        optimizer.zero_grad()
        model(IDS, POSITIONS).square().mean().backward()
        optimizer.step()

    for _ in range(2):
        if debugger is None:
            step()
        else:
            with debugger.recording(model):
                step()
    return list(model.parameters())


def test_two_lines_record_every_step(model: SmallModel, tmp_path: Path) -> None:
    twin = copy.deepcopy(model)
    recorded = train(model, PrecisionDebugger(dump_path=tmp_path, level="mix"))
    assert all(a.equal(b) for a, b in zip(recorded, train(twin, None), strict=True))
    assert [rank.step for rank in dumped(tmp_path).ranks] == [0, 1]
    for dump in read_rank_dumps(tmp_path):
        assert dump.head["level"] == "mix" and "note" not in dump.head
        for module in ("embed.Embedding", "norm.LayerNorm", "mlp.Linear", "head.Linear"):
            for part in ("forward", "backward", "parameters_grad"):
                assert f"Module.{module}.{part}.0" in dump.names
        assert dump.construct["Functional.linear.0.forward"] == "Module.mlp.Linear.forward.0"


def test_error_in_the_body_passes_and_the_step_holds_what_ran(
    model: SmallModel, tmp_path: Path
) -> None:
    debugger = PrecisionDebugger(dump_path=tmp_path, level="mix")
    with pytest.raises(IndexError), debugger.recording(model):
        model(IDS + 100, POSITIONS)
    (dump,) = read_rank_dumps(tmp_path)
    assert dump.data["Module.embed.Embedding.forward.0"]["input_args"][0]["Max"] == 103
    assert not any(name.startswith("Module.norm.") for name in dump.names)
