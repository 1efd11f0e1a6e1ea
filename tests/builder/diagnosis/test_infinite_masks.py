"""A mask of infinities that hides other elements: its statistics agree, and it is named."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from tests.builder.diagnosis.recorded_programs import found, same

INF = float("inf")
Mask = Callable[[Tensor], Tensor]


class Attention(nn.Module):
    """Scores of which a mask hides some; a fault may lie before it."""

    def __init__(self, mask: Mask, first: Mask = same) -> None:
        super().__init__()
        self.put, self.mask, self.first = nn.Linear(16, 16), mask, first

    def forward(self, x: Tensor) -> Tensor:
        y = self.first(torch.tanh(self.put(x)))
        return torch.softmax(self.mask(torch.matmul(y, y.T)), -1) @ y


def added(scores: Tensor, diagonal: int = 1) -> Tensor:
    return scores + torch.triu(torch.full((32, 32), -INF), diagonal)


def filled(scores: Tensor, diagonal: int = 1) -> Tensor:
    hidden = torch.ones(32, 32, dtype=torch.bool).triu(diagonal)
    return scores + torch.zeros(32, 32).masked_fill(hidden, -INF)


def chosen(scores: Tensor, length: int = 20) -> Tensor:
    kept = torch.arange(32) < length
    return scores + torch.where(kept, 0.0, -INF)


def half(scores: Tensor, diagonal: int = 1) -> Tensor:
    return scores + torch.triu(torch.full((32, 32), -INF, dtype=torch.bfloat16), diagonal)


MASKS: dict[str, tuple[Mask, Mask, str]] = {
    "triu": (partial(added, diagonal=2), added, "Torch.triu.0.forward"),
    "more hidden": (partial(added, diagonal=0), added, "Torch.triu.0.forward"),
    "filled": (partial(filled, diagonal=2), filled, "Tensor.triu.0.forward"),
    "by lengths": (partial(chosen, length=21), chosen, "Tensor.__lt__.0.forward"),
    "bfloat16": (partial(half, diagonal=2), half, "Torch.triu.0.forward"),
}


@pytest.mark.parametrize("masks", MASKS.values(), ids=MASKS)
def test_a_mask_that_hides_other_elements_is_named_where_it_is_made(
    tmp_path: Path, masks: tuple[Mask, Mask, str]
) -> None:
    problem, benchmark, call = masks
    (cause,) = found(tmp_path, lambda mask=benchmark: Attention(mask), mask=problem)
    assert cause.name == call


@pytest.mark.parametrize("mask", [added, filled, chosen, half])
def test_what_follows_from_a_fault_before_it_is_none(tmp_path: Path, mask: Mask) -> None:
    program = partial(Attention, mask)
    (cause,) = found(tmp_path, program, first=lambda x: x * 1.001)
    assert cause.name == "Tensor.__mul__.0.forward"
