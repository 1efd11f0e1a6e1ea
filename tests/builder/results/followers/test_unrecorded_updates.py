"""Where no update is recorded, a weight leads to the gradient that it followed."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

import builder
from msprobe_core import PrecisionDebugger
from tb_graph_ascend.view.explained_way import explained_way

WIDTH = 16


class Model(nn.Module):
    """Scales what one layer hands to the next, in code of its own."""

    def __init__(self, scale: float) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.put, self.out, self.scale = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH), scale

    def forward(self, x: Tensor) -> Tensor:
        return torch.as_tensor(self.out(self.put(x) * self.scale))


def record(path: Path, level: str, scale: float) -> None:
    model = Model(scale)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    debugger = PrecisionDebugger(level=level, dump_path=str(path))
    for step in range(2):
        x = torch.randn(64, WIDTH, generator=torch.Generator().manual_seed(step))
        with debugger.recording(model):
            optimizer.zero_grad()
            model(x).square().mean().backward()
            optimizer.step()
    debugger.close()


@pytest.mark.parametrize(("level", "link"), [("L0", "gradient"), ("mix", "before")])
def test_a_weight_leads_to_what_is_recorded_of_its_update(
    tmp_path: Path, level: str, link: str
) -> None:
    for side, scale in (("problem", 1.5), ("benchmark", 1.0)):
        record(tmp_path / side, level, scale)
    result = builder.build(tmp_path / "problem", tmp_path / "benchmark", tmp_path / "o")
    trace = explained_way(result.path, "Module.put.Linear.forward.0", 1, 0)
    (hop,) = [one for one in trace.hops if one.step == 0 and one.link in ("gradient", "before")]
    assert hop.link == link
    assert trace.finding == 1
    if link == "gradient":
        assert hop.name == "Module.put.Linear.parameters_grad.0"
        assert hop.value is not None
        assert hop.output == hop.value.replace("parameters", "parameters_grad")
