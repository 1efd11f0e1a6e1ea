"""Another way to the same result heals; what leaves anything behind does not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

import builder
from builder.run.build import BuildResult
from builder.work.options import BuildOptions
from msprobe_core import PrecisionDebugger, seed_all
from tests.told import facts

WIDTH, STEPS = 16, 2
Way = Callable[["Mixer", Tensor], Tensor]


class Mixer(nn.Module):
    """A layer that mixes rows in the way it is given; `counted` goes from one step to the next."""

    counted: Tensor

    def __init__(self, way: Way) -> None:
        super().__init__()
        self.way = way
        self.inner = nn.Linear(WIDTH, WIDTH)
        self.register_buffer("counted", torch.zeros(WIDTH))
        self.seen: list[Tensor] = []

    def forward(self, x: Tensor) -> Tensor:
        return self.way(self, self.inner(x))


class Model(nn.Module):
    """A mixer, and beside it a branch that scales what it adds to the loss."""

    def __init__(self, way: Way, scale: float = 1.0) -> None:
        super().__init__()
        self.mixer, self.head = Mixer(way), nn.Linear(WIDTH, 4)
        self.beside, self.scale = nn.Linear(WIDTH, 4), scale

    def forward(self, x: Tensor) -> Tensor:
        loss = torch.sum(self.head(self.mixer(x)).square())
        return loss + torch.mul(self.beside(x), self.scale).sin().sum()


def recorded(path: Path, way: Way, scale: float = 1.0, rate: float = 1e-2) -> Path:
    seed_all()
    model = Model(way, scale)
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    debugger = PrecisionDebugger(level="mix", dump_path=str(path))
    for _ in range(STEPS):
        with debugger.recording(model):
            optimizer.zero_grad()
            model(torch.randn(6, WIDTH)).backward()
            optimizer.step()
    debugger.close()
    return path


def compared(tmp_path: Path, problem: Way, benchmark: Way, **fault: float) -> BuildResult:
    runs = recorded(tmp_path / "p", problem, **fault), recorded(tmp_path / "b", benchmark)
    return builder.build(*runs, tmp_path / "o", BuildOptions(workers=1))


def codes(made: BuildResult) -> list[set[str]]:
    return [{str(facts(reason)["code"]) for reason in finding.reasons} for finding in made.findings]


def degrees(mixer: Mixer, x: Tensor) -> Tensor:
    return torch.sin(torch.round(x * 180 / 45) * 45)


def eighths(mixer: Mixer, x: Tensor) -> Tensor:
    return torch.sin(torch.round(x * 4) * 45)


def scaled_before(mixer: Mixer, x: Tensor) -> Tensor:
    return torch.mm(torch.mm(x * 0.25, x.t()), x)


def scaled_behind(mixer: Mixer, x: Tensor) -> Tensor:
    return torch.mm(torch.mm(x, x.t()) * 0.25, x)


def padded_before(mixer: Mixer, x: Tensor) -> Tensor:
    rows = functional.pad(x[None], (1, 1))
    return functional.conv1d(rows, torch.linspace(0.1, 1, 6 * 6 * 3).view(6, 6, 3))[0]


def padded_inside(mixer: Mixer, x: Tensor) -> Tensor:
    rows = functional.pad(x[None], (0, 0))
    return functional.conv1d(rows, torch.linspace(0.1, 1, 6 * 6 * 3).view(6, 6, 3), padding=1)[0]


def at_once(mixer: Mixer, x: Tensor) -> Tensor:
    return functional.linear(x, mixer.inner.weight)


def in_halves(mixer: Mixer, x: Tensor) -> Tensor:
    return torch.cat([functional.linear(half, mixer.inner.weight) for half in x.split(3)])


WAYS = [
    (degrees, eighths),
    (scaled_before, scaled_behind),
    (padded_before, padded_inside),
    (at_once, in_halves),
]


@pytest.mark.parametrize(("one", "other"), WAYS, ids=lambda way: str(way.__name__))
def test_another_way_to_the_same_result_heals(tmp_path: Path, one: Way, other: Way) -> None:
    found = codes(compared(tmp_path, other, one))
    assert found  # the two ways do differ
    assert all("heals" in each for each in found)


def counting(share: float) -> Way:
    """A state that the next step reads, behind a result that agrees."""

    def way(mixer: Mixer, x: Tensor) -> Tensor:
        kept = mixer.counted * share
        mixer.counted.copy_(kept + x.detach().mean(0))
        return functional.relu(x + 0 * kept)

    return way


def keeping(scale: float) -> Way:
    """A value that no recorded call reads."""

    def way(mixer: Mixer, x: Tensor) -> Tensor:
        mixer.seen.append(x * scale)
        return functional.relu(x)

    return way


def masking(value: float) -> Way:
    """NaN where the result is replaced."""

    def way(mixer: Mixer, x: Tensor) -> Tensor:
        made = torch.where(x > 100, torch.zeros_like(x), x / value * value)
        return torch.nan_to_num(made) if value else torch.where(made.isnan(), x, made)

    return way


def near(epsilon: float) -> Way:
    """A result that is further off than rounding, and not by much."""

    def way(mixer: Mixer, x: Tensor) -> Tensor:
        return torch.div(x, x.norm(dim=1, keepdim=True).square().add(epsilon).sqrt())

    return way


def passing_back(scale: float) -> Way:
    """The same result, whose gradient is another one."""

    def way(mixer: Mixer, x: Tensor) -> Tensor:
        return torch.mul(x, scale) - torch.mul(x.detach(), scale - 1)

    return way


@pytest.mark.parametrize(
    ("problem", "benchmark"),
    [
        (counting(0.5), counting(0.9)),
        (keeping(2.0), keeping(3.0)),
        (masking(0.0), masking(2.0)),
        (near(1e-3), near(1e-6)),
        (passing_back(2.0), passing_back(1.5)),
    ],
    ids=["state", "unread", "nan", "near", "gradient"],
)
def test_what_stays_does_not_heal(tmp_path: Path, problem: Way, benchmark: Way) -> None:
    found = codes(compared(tmp_path, problem, benchmark))
    assert found
    assert not any("heals" in each for each in found)


def test_a_fault_elsewhere_leaves_no_finding_healed(tmp_path: Path) -> None:
    def wrong(mixer: Mixer, x: Tensor) -> Tensor:
        return functional.dropout(scaled_before(mixer, x), 0.5)

    def right(mixer: Mixer, x: Tensor) -> Tensor:
        return functional.dropout(scaled_behind(mixer, x), 0.25)

    found = codes(compared(tmp_path, wrong, right))
    assert any("argument_differs" in each for each in found)
    assert not any("heals" in each for each in found)


FAULTS = {"in the optimizer": {"rate": 5e-2}, "in a branch beside": {"scale": 1.5}}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
@pytest.mark.parametrize(("one", "other"), WAYS[1:], ids=lambda way: str(way.__name__))
def test_a_fault_elsewhere_leaves_another_way_healed_and_last(
    tmp_path: Path, one: Way, other: Way, fault: dict[str, float]
) -> None:
    found = codes(compared(tmp_path, other, one, **fault))
    heals = ["heals" in each for each in found]
    assert any(heals) and not all(heals)
    assert heals == sorted(heals)
    assert "argument_differs" in found[0]


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
@pytest.mark.parametrize(
    ("problem", "benchmark"),
    [
        (counting(0.5), counting(0.9)),
        (keeping(2.0), keeping(3.0)),
        (near(1e-3), near(1e-6)),
        (passing_back(2.0), passing_back(1.5)),
    ],
    ids=["state", "unread", "near", "gradient"],
)
def test_what_stays_does_not_heal_beside_a_fault_either(
    tmp_path: Path, problem: Way, benchmark: Way, fault: dict[str, float]
) -> None:
    found = codes(compared(tmp_path, problem, benchmark, **fault))
    assert found
    assert not any("heals" in each for each in found)
