"""A cache that is written by an index: the call that writes elsewhere is named, and is no way."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest
import torch
from torch import Tensor, nn

import builder
from builder.reasons import ArgumentDiffers
from builder.work.outcome import StoredFinding
from msprobe_core import PrecisionDebugger

WIDTH, TOKENS = 8, 4
Level = Literal["L1", "mix"]


@dataclass(frozen=True)
class Places:
    """How far keys and values are written from the place of their token, and into which layer."""

    keys: int = 0
    values: int = 0
    layer: int = 0


class Cached(nn.Module):
    """Attention of one token after another, to all before it, over a cache that lies ready."""

    def __init__(self, places: Places) -> None:
        super().__init__()
        self.places = places
        self.put, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)

    def store(self, cache: list[Tensor], at: int, key: Tensor, value: Tensor) -> None:
        keys, values = cache
        first, second = at + self.places.keys, at + self.places.values
        keys[self.places.layer, :, first : first + 1] = key
        values[self.places.layer, :, second : second + 1] = value

    def forward(self, tokens: Tensor) -> Tensor:
        cache = [torch.zeros(2, len(tokens), TOKENS + 2, WIDTH) for _ in range(2)]
        made = []
        for at in range(TOKENS):
            query, key, value = self.put(tokens[:, at : at + 1]).chunk(3, dim=-1)
            self.store(cache, at, key, value)
            keys, values = (one[0, :, : at + 1] for one in cache)
            weights = torch.softmax(query @ keys.transpose(1, 2), dim=-1)
            made.append(self.out(weights @ values))
        return torch.cat(made, dim=1)


def recorded(path: Path, places: Places, level: Level) -> Path:
    torch.manual_seed(0)
    model = Cached(places).eval()
    debugger = PrecisionDebugger(level=level, dump_path=str(path))
    with torch.no_grad(), debugger.recording(model):
        model(torch.randn(3, TOKENS, WIDTH))
    debugger.close()
    return path


def found(tmp_path: Path, places: Places, level: Level) -> tuple[StoredFinding, ...]:
    ours = recorded(tmp_path / "problem", places, level)
    theirs = recorded(tmp_path / "benchmark", Places(), level)
    return builder.build(ours, theirs, tmp_path / "o").findings


@pytest.mark.parametrize("level", ["L1", "mix"])
@pytest.mark.parametrize(
    ("places", "name", "index"),
    [
        (Places(keys=1, values=1), "Tensor.__setitem__.0.forward", 2),
        (Places(keys=1), "Tensor.__setitem__.0.forward", 2),
        (Places(values=1), "Tensor.__setitem__.1.forward", 2),
        (Places(layer=1), "Tensor.__setitem__.0.forward", 0),
    ],
    ids=["both", "keys", "values", "layer"],
)
def test_the_call_that_writes_elsewhere_is_the_one_cause(
    tmp_path: Path, places: Places, name: str, index: int, level: Level
) -> None:
    (finding,) = found(tmp_path, places, level)

    assert finding.name == name
    told = finding.reasons[0]
    assert isinstance(told, ArgumentDiffers)
    assert (told.value, told.argument) == (f"input.1.{index}", f"index[{index}]")
    assert not finding.heals_by_itself
    assert not finding.heals
    both = places.layer or (places.keys and places.values)
    assert len(finding.places) == (2 if both else 1) * TOKENS - 1


def test_bounds_are_told_as_they_are_written(tmp_path: Path) -> None:
    (finding,) = found(tmp_path, Places(values=1), "mix")
    told = finding.reasons[0]
    assert isinstance(told, ArgumentDiffers)
    assert (told.problem, told.benchmark) == ("1:2", "0:1")


def test_equal_places_are_no_finding(tmp_path: Path) -> None:
    assert found(tmp_path, Places(), "mix") == ()
