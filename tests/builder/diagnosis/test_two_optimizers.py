"""Two optimizers that step in turn: one that moves the other's parameters as well is the cause."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

import builder
from builder.work.outcome import StoredFinding
from msprobe.pytorch import PrecisionDebugger
from tests.told import facts


class Pair(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.maker, self.critic = nn.Linear(6, 8), nn.Linear(8, 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.critic(torch.tanh(self.maker(x)))  # type: ignore[no-any-return]


def trained(path: Path, *, moves_both: bool) -> Path:
    torch.manual_seed(0)
    pair, x = Pair(), torch.randn(16, 6)
    owned = pair if moves_both else pair.critic
    critics = torch.optim.Adam(owned.parameters(), lr=1e-2, foreach=False)
    makers = torch.optim.Adam(pair.maker.parameters(), lr=1e-2, foreach=False)
    debugger = PrecisionDebugger(level="mix", dump_path=str(path))
    with debugger.recording(pair):
        for optimizer in (critics, makers):
            optimizer.zero_grad()
            pair(x).square().mean().backward()
            optimizer.step()
    debugger.close()
    return path


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> list[StoredFinding]:
    folder = tmp_path_factory.mktemp("pairs")
    sides = (trained(folder / str(both), moves_both=both) for both in (True, False))
    return list(builder.build(*sides, folder / "out").findings)


def test_what_it_does_more_is_named_first_at_its_line(found: list[StoredFinding]) -> None:
    first = found[0]
    assert facts(first.reasons[0])["code"] == "extra_calls"
    assert first.name.startswith("Tensor.addcdiv_.")
    assert first.line is not None and "optimizer.step()" in first.line


def test_no_parameter_is_said_to_differ_before_the_step(found: list[StoredFinding]) -> None:
    codes = [facts(reason)["code"] for finding in found for reason in finding.reasons]
    assert "parameter_differs" not in codes
