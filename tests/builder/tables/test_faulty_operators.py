"""The row where a difference begins is an error, however small its factor is."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from tests.builder.tables.programs import compared, recorded


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.first, self.norm, self.last = nn.Linear(8, 8), nn.LayerNorm(8), nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = F.softmax(self.norm(F.gelu(self.first(x))), dim=-1)
        return F.silu(self.last(hidden)).square().mean()


@pytest.mark.parametrize("factor", [1.05, 1.2, 1.5])
@pytest.mark.parametrize("name", ["gelu", "softmax", "silu", "linear"])
@pytest.mark.parametrize("task", ["statistics", "tensor"])
def test_a_factor_in_one_operator(
    tmp_path: Path, task: str, name: str, factor: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.manual_seed(0)
    x = torch.randn(5, 8)
    real = getattr(F, name)
    steps = []
    for side, times in (("benchmark", 1.0), ("problem", factor)):

        def scaled(*args: object, times: float = times, **named: object) -> torch.Tensor:
            return real(*args, **named) * times

        monkeypatch.setattr(F, name, scaled)
        model = Net()
        steps.append(recorded(tmp_path / side, lambda m=model: m(x), model, task=task))
    rows, result = compared(*reversed(steps), tmp_path / "tables")
    guilty = f"Functional.{name}.0.forward"
    assert result.findings[0].name == guilty
    wrong = [row["NPU Name"] for row in rows if row["Result"] == "error"]
    assert wrong[0] == f"{guilty}.output.0"
    spoken = [row["NPU Name"] for row in rows if row["Result"] != "pass"]
    assert spoken[0] == f"{guilty}.output.0"
