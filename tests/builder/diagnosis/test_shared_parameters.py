"""A parameter's gradient is the sum of what all calls that read it return, in its module or not."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from tests.builder.diagnosis.recorded_programs import Change, found, names, same

Penalty = Callable[["Penalized"], Tensor]


class Penalized(nn.Module):
    """Layers whose weights are a part of what comes out."""

    def __init__(self, penalty: Penalty) -> None:
        super().__init__()
        self.first, self.norm, self.last = nn.Linear(16, 16), nn.LayerNorm(16), nn.Linear(16, 16)
        self.penalty = penalty

    def forward(self, x: Tensor) -> Tensor:
        return self.last(torch.sin(self.norm(self.first(x)))) + self.penalty(self)


def sizes(model: Penalized, factor: float = 0.01, without: str = "") -> Tensor:
    named = model.named_parameters()
    parts = [weight.abs().sum() for name, weight in named if name != without]
    return factor * torch.stack(parts).sum()


class Tied(nn.Module):
    """Two layers of one weight; a change stands behind the later one."""

    def __init__(self, behind: Change = same) -> None:
        super().__init__()
        self.first, self.last, self.behind = nn.Linear(16, 16), nn.Linear(16, 16), behind
        self.last.weight = self.first.weight

    def forward(self, x: Tensor) -> Tensor:
        return self.behind(self.last(torch.sin(self.first(x))))


@pytest.mark.parametrize(
    ("penalty", "call"),
    [
        (partial(sizes, factor=0.1), "Tensor.__rmul__.0.forward"),
        (partial(sizes, without="first.weight"), "Tensor.sum.0.forward"),
        (partial(sizes, without="norm.weight"), "Tensor.sum.2.forward"),
    ],
)
def test_a_penalty_on_weights_explains_their_gradients(
    tmp_path: Path, penalty: Penalty, call: str
) -> None:
    ours = found(tmp_path, lambda penalty=sizes: Penalized(penalty), penalty=penalty)
    assert names(ours)[0] == call
    assert len(ours) == 1


def test_what_one_module_returns_explains_the_gradient_of_a_tied_weight(tmp_path: Path) -> None:
    ours = found(tmp_path, Tied, behind=functional.softplus)
    assert names(ours) == ["Functional.softplus.0.forward"]
