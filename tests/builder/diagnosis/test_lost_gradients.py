"""Gradients that one run lacks: nothing that is compared differs, and the runs are not the same."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

import builder
from builder.work.outcome import StoredFinding
from evaluation.parallel.strip import Dumps, strip
from msprobe.pytorch import PrecisionDebugger
from tests.builder.diagnosis.recorded_programs import Change, recorded, same


class Layers(nn.Module):
    """Two layers, between which a value may be cut off from its gradient."""

    def __init__(
        self, between: Change = same, inside: Change = same, frozen: Collection[str] = ()
    ) -> None:
        super().__init__()
        self.first, self.second = Inner(inside), nn.Linear(16, 16)
        self.between = between
        for name, parameter in self.named_parameters():
            parameter.requires_grad_(name not in frozen)

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
    tmp_path: Path,
    dumps: Dumps = "ours",
    *,
    trains: bool = True,
    frozen: tuple[Collection[str], Collection[str]] = ((), ()),
    **changes: Change,
) -> tuple[StoredFinding, ...]:
    ours, theirs = (partial(Layers, frozen=names) for names in frozen)
    sides = (
        recorded(tmp_path / "problem", ours, trains=trains, **changes),
        recorded(tmp_path / "benchmark", theirs, trains=trains),
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


FROZEN: dict[str, Collection[str]] = {
    "a weight": ["second.weight"],
    "a bias": ["second.bias"],
    "the last layer": ["second.weight", "second.bias"],
    "the first layer": ["first.project.weight", "first.project.bias"],
    "a weight of the first layer": ["first.project.weight"],
}


@pytest.mark.parametrize("trains", [True, False])
@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("frozen", FROZEN.values(), ids=FROZEN)
def test_parameters_that_one_run_alone_froze_are_no_other_way_to_the_same(
    tmp_path: Path, frozen: Collection[str], side: int, trains: bool
) -> None:
    """All that is compared agrees, and one run does not train a layer."""
    (cause,) = found(tmp_path, trains=trains, frozen=(frozen, ()) if side == 0 else ((), frozen))
    layer = min(frozen).rpartition(".")[0]
    call = "Functional.linear.0" if layer == "first.project" else "Functional.linear.1"
    assert cause.name in (f"{call}.forward", f"Module.{layer}.Linear.forward.0")
    assert not cause.heals and "requires_grad" in str(cause.reasons[0])


@pytest.mark.parametrize("dumps", ["ours", "peer"])
@pytest.mark.parametrize("frozen", FROZEN.values(), ids=FROZEN)
def test_so_they_are_behind_another_fault(
    tmp_path: Path, frozen: Collection[str], dumps: Dumps
) -> None:
    both = found(tmp_path, dumps, frozen=(frozen, ()), between=lambda x: x * 1.5)
    (froze,) = (cause for cause in both if "requires_grad" in str(cause.reasons[0]))
    assert len(both) == 2 and "Tensor.__mul__.0.forward" in {cause.name for cause in both}
    assert not froze.heals


def test_what_a_fault_cuts_off_is_no_second_one(tmp_path: Path) -> None:
    (cause,) = found(tmp_path, between=lambda x: x.detach() * 1.5)
    assert "Tensor.detach.0.forward" in str(cause.reasons[0])


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


class Adapted(nn.Module):
    """The started model itself holds parameters; `change` is what one of them is read through."""

    def __init__(self, change: Change = same, read: Change = same) -> None:
        super().__init__()
        self.layer, self.change, self.read = nn.Linear(16, 16), change, read
        self.down = nn.Parameter(0.1 * torch.randn(16, 4))
        self.up = nn.Parameter(0.1 * torch.randn(4, 16))

    def forward(self, x: Tensor) -> Tensor:
        x = self.layer(x)
        self.read(self.down)
        return x + x @ self.change(self.down) @ self.up


@pytest.mark.parametrize("trains", [True, False])
@pytest.mark.parametrize(
    "change", [cut_off, lambda x: x.clone().detach(), lambda x: x[:, :].detach()]
)
def test_a_parameter_of_the_model_itself_that_is_cut_off_does_not_heal(
    tmp_path: Path, change: Change, trains: bool
) -> None:
    ours = recorded(tmp_path / "problem", Adapted, trains=trains, change=change)
    theirs = recorded(tmp_path / "benchmark", Adapted, trains=trains)
    (finding,) = builder.build(ours, theirs, tmp_path / "o").findings
    assert finding.name.startswith("Tensor.detach.")
    assert not finding.heals


def test_a_parameter_that_is_cut_off_to_be_looked_at_is_silent(tmp_path: Path) -> None:
    ours = recorded(tmp_path / "problem", Adapted, read=lambda x: x.detach().norm())
    theirs = recorded(tmp_path / "benchmark", Adapted)
    assert builder.build(ours, theirs, tmp_path / "o").findings == ()
