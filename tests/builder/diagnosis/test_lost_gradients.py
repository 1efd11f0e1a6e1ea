"""Gradients that one run lacks: nothing that is compared differs, and the runs are not the same."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

import builder
from builder.work.outcome import StoredFinding
from msprobe.pytorch import PrecisionDebugger
from tests.builder.diagnosis.recorded_programs import Change, recorded, same
from tests.parallel.strip import Dumps, strip


class Layers(nn.Module):
    """Two layers, between which a value may be cut off from its gradient."""

    def __init__(self, between: Change = same, inside: Change = same) -> None:
        super().__init__()
        self.first, self.second = Inner(inside), nn.Linear(16, 16)
        self.between = between

    def forward(self, x: Tensor) -> Tensor:
        return torch.tanh(self.second(self.between(self.first(torch.sin(x)))))


class Inner(nn.Module):
    def __init__(self, change: Change) -> None:
        super().__init__()
        self.project, self.change = nn.Linear(16, 16), change

    def forward(self, x: Tensor) -> Tensor:
        return self.change(torch.relu(self.project(x)))


def cut_off(x: Tensor) -> Tensor:
    return x.detach()


def cut_off_unseen(x: Tensor) -> Tensor:
    with torch._C.DisableTorchFunction():
        return x.detach()


def copied(x: Tensor) -> Tensor:
    return x.view(32, 16)


def found(
    tmp_path: Path, dumps: Dumps = "ours", *, trains: bool = True, **changes: Change
) -> tuple[StoredFinding, ...]:
    sides = (
        recorded(tmp_path / "problem", Layers, trains=trains, **changes),
        recorded(tmp_path / "benchmark", Layers, trains=trains),
    )
    for side in sides:
        strip(side, dumps)
    return builder.build(*sides, tmp_path / "o").findings


@pytest.mark.parametrize("trains", [True, False])
@pytest.mark.parametrize("place", ["between", "inside"])
def test_what_cuts_parameters_off_from_their_gradients_is_named(
    tmp_path: Path, place: str, trains: bool
) -> None:
    (cause,) = found(tmp_path, trains=trains, **{place: cut_off})
    assert cause.name == "Tensor.detach.0.forward"
    assert not cause.heals and cause.score == 1.0


@pytest.mark.parametrize("dumps", ["ours", "peer"])
def test_where_no_call_shows_it_the_value_is_named(tmp_path: Path, dumps: Dumps) -> None:
    (cause,) = found(tmp_path, dumps, between=cut_off_unseen)
    assert cause.kind == "argument_differs" and not cause.heals
    assert "requires_grad" in str(cause.reasons[0])


def test_another_way_to_the_same_gradients_is_silent(tmp_path: Path) -> None:
    assert found(tmp_path, between=copied) == ()


def test_calls_that_a_lost_gradient_keeps_from_running_are_no_cause(tmp_path: Path) -> None:
    """Clipping sums the norms of the gradients that there are: it calls less, and sums less."""

    def run(path: Path, change: Change) -> Path:
        torch.manual_seed(0)
        model, x = Layers(change), torch.randn(32, 16)
        optimizer = torch.optim.AdamW(model.parameters(), foreach=False)
        debugger = PrecisionDebugger(level="mix", dump_path=str(path))
        with debugger.recording(model):
            model(x).square().sum().backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0, foreach=False)
            optimizer.step()
        debugger.close()
        return path

    sides = run(tmp_path / "problem", cut_off), run(tmp_path / "benchmark", same)
    (cause,) = builder.build(*sides, tmp_path / "o").findings
    assert cause.name == "Tensor.detach.0.forward"
