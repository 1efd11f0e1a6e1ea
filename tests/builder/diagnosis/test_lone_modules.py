"""A whole module that one run alone calls is one cause: the module, its calls a part of it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

import builder
from tests.builder.diagnosis.recorded_programs import recorded
from tests.told import facts


class Norm(nn.Module):
    """A norm of plain calls."""

    def forward(self, x: Tensor) -> Tensor:
        return (x - x.mean(-1, keepdim=True)) * torch.rsqrt(x.var(-1, keepdim=True) + 1e-5)


class Wrapped(nn.Module):
    """A module whose calls stand in a module inside it."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = Norm()

    def forward(self, x: Tensor) -> Tensor:
        return self.inner(x) * 2.0


class Normed(nn.Module):
    def __init__(self, norm: Callable[[], nn.Module], skips: bool = False) -> None:
        super().__init__()
        self.norm1, self.norm2, self.skips = norm(), norm(), skips
        self.first, self.second = nn.Linear(16, 16), nn.Linear(16, 16)

    def forward(self, x: Tensor) -> Tensor:
        x = torch.tanh(self.first(self.norm1(x)))
        return torch.tanh(self.second(x if self.skips else self.norm2(x)))


@pytest.mark.parametrize("norm", [Norm, Wrapped, partial(nn.LayerNorm, 16)])
@pytest.mark.parametrize("kind", ["missing", "extra"])
def test_a_whole_module_of_one_run_alone_is_named_with_its_calls_as_part_of_it(
    tmp_path: Path, norm: Callable[[], nn.Module], kind: str
) -> None:
    whole = recorded(tmp_path / "whole", partial(Normed, norm))
    lacks = recorded(tmp_path / "lacks", partial(Normed, norm, skips=True))
    sides = (lacks, whole) if kind == "missing" else (whole, lacks)
    (finding,) = builder.build(*sides, tmp_path / "o").findings
    assert finding.name.startswith("Module.norm2.")
    first, *others = finding.reasons
    assert facts(first) == {"code": f"{kind}_calls", "names": finding.name}
    (inside,) = [reason for reason in others if facts(reason)["code"] == f"{kind}_inside"]
    calls = str(facts(inside)["names"]).split(", ")
    assert calls
    assert not [name for name in calls if name.startswith("Module.")]
