"""A mask of which one element moved may have the same sketch: what it selects goes back."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional

from msprobe_core.torch.measure.sketched_numbers import measure_and_sketch
from tests.builder.diagnosis.recorded_programs import Change, found, names, same

LENGTH = 128


def alike() -> tuple[int, int]:
    """Two places whose masks no sketch tells apart."""
    sketches = [
        measure_and_sketch(torch.arange(LENGTH) == place, False)[1] for place in range(LENGTH)
    ]
    return next((p, q) for p, q in combinations(range(LENGTH), 2) if sketches[p] == sketches[q])


class Selected(nn.Module):
    """Picks a row of a table by a mask, at the one or the other of two places."""

    def __init__(self, early: Change = same) -> None:
        super().__init__()
        self.first = nn.Linear(16, 16)
        self.register_buffer("table", torch.randn(LENGTH, 16))
        self.early = early
        self.places = alike()

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.early(torch.sin(self.first(x)))
        place = torch.where(hidden.sum() > 100, *self.places)
        (index,) = torch.where(torch.arange(LENGTH) == place)
        return hidden * torch.cos(self.table[index])


class Cut(nn.Module):
    """Cuts a row off behind a pad, which is all that the cut takes away where the pad is last."""

    def __init__(self, pad: Change = same) -> None:
        super().__init__()
        self.first, self.last, self.pad = nn.Linear(16, 16), nn.Linear(16, 16), pad

    def forward(self, x: Tensor) -> Tensor:
        hidden = torch.sin(self.first(x))
        padded = functional.pad(hidden, (0, 0, 0, 1)) if self.pad is same else self.pad(hidden)
        return self.last(padded[:-1])


def padded_before(x: Tensor) -> Tensor:
    return functional.pad(x, (0, 0, 1, 0))


def test_what_a_cut_takes_away_goes_back_to_the_pad(tmp_path: Path) -> None:
    assert names(found(tmp_path, Cut, pad=padded_before)) == ["Functional.pad.0.forward"]


def raised(x: Tensor) -> Tensor:
    return x + 1.0


def test_what_a_mask_selects_goes_back_to_what_the_mask_was_made_of(tmp_path: Path) -> None:
    assert names(found(tmp_path, Selected, early=raised)) == ["Tensor.__add__.0.forward"]
