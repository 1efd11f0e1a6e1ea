"""Refactored lines that come to the same after several steps heal; a fault on the same line stays.

Of each family there are the benchmark's way, another right one, and a wrong one.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, TypeAlias

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

import builder
from builder.work.outcome import StoredFinding
from msprobe.pytorch import PrecisionDebugger

Way: TypeAlias = Literal["usual", "other", "wrong"]
WIDTH = 16


class Mixed(nn.Module):
    """Two layers around what a subclass computes in one of three ways."""

    def __init__(self, way: Way) -> None:
        super().__init__()
        self.way = way
        self.put, self.out = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)

    def between(self, x: Tensor) -> Tensor:
        raise NotImplementedError

    def forward(self, x: Tensor) -> Tensor:
        return self.out(self.between(self.put(x)))  # type: ignore[no-any-return]  # torch's modules return anything


class Gate(Mixed):
    """A sigmoid by its definition has the factor of the other sign."""

    def between(self, x: Tensor) -> Tensor:
        if self.way == "other":
            return x / (1 + torch.exp(-1.7 * x))
        return x * torch.sigmoid((2.7 if self.way == "wrong" else 1.7) * x)


class Choice(Mixed):
    """Of logits the same are chosen as of their softmax."""

    def between(self, x: Tensor) -> Tensor:
        if self.way == "other":
            best, chosen = x.topk(4, dim=-1)
            weights = best.softmax(-1)
        else:
            best, chosen = x.softmax(-1).topk(4, dim=-1)
            weights = best if self.way == "wrong" else best / best.sum(-1, keepdim=True)
        return x * torch.zeros_like(x).scatter(-1, chosen, weights)


class _Swish(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, way: Way) -> Tensor:
        ctx.save_for_backward(x)
        ctx.way = way
        return x * torch.sigmoid(x)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        (x,) = ctx.saved_tensors
        (gradient,) = gradients
        gate = torch.sigmoid(x)
        if ctx.way == "other":
            return gradient * (gate + x * gate * (1 - gate)), None
        return gradient * gate * (1 + x * ((1 if ctx.way == "usual" else 2) - gate)), None


class OwnBackward(Mixed):
    """The formula of a gradient, written otherwise."""

    def between(self, x: Tensor) -> Tensor:
        return _Swish.apply(x, self.way)  # type: ignore[no-any-return, no-untyped-call]  # torch declares no types here


class Pooled(Mixed):
    """Behind attention: Adam makes whole steps of what rounding leaves in its key's bias."""

    def __init__(self, way: Way) -> None:
        super().__init__(way)
        self.query, self.key = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)

    def between(self, x: Tensor) -> Tensor:
        x = F.scaled_dot_product_attention(self.query(x), self.key(x), x)
        keep = (torch.arange(x.shape[1]) < x.shape[1] - 2).float().expand(x.shape[:2])
        if self.way == "other":
            return torch.einsum("blw,bl->bw", x, keep / keep.sum(1, keepdim=True))
        weights = keep.unsqueeze(-1)
        length = x.shape[1] if self.way == "wrong" else weights.sum(1)
        return (x * weights).sum(1) / length


class Summed(Mixed):
    """A loss that is a mean, or a sum that is divided: the end is another call's."""

    def forward(self, x: Tensor) -> Tensor:
        logits = super().forward(x).flatten(0, 1)
        labels = torch.arange(len(logits)) % WIDTH
        if self.way == "other":
            return F.cross_entropy(logits, labels, reduction="sum") / len(labels)
        return F.cross_entropy(logits, labels, reduction="sum" if self.way == "wrong" else "mean")

    def between(self, x: Tensor) -> Tensor:
        return torch.tanh(x)


FAMILIES = [Summed, Gate, Choice, OwnBackward, Pooled]


def recorded(path: Path, program: type[Mixed], way: Way) -> Path:
    torch.manual_seed(0)
    model = program(way)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    debugger = PrecisionDebugger(level="mix", dump_path=str(path))
    for step in range(3):
        x = torch.randn(4, 8, WIDTH, generator=torch.Generator().manual_seed(step))
        with debugger.recording(model):
            optimizer.zero_grad()
            result = model(x)
            (result if result.dim() == 0 else result.square().mean()).backward()
            optimizer.step()
    debugger.close()
    return path


def findings(tmp_path: Path, program: type[Mixed], way: Way) -> tuple[StoredFinding, ...]:
    ours = recorded(tmp_path / way, program, way)
    theirs = recorded(tmp_path / "usual", program, "usual")
    return builder.build(ours, theirs, tmp_path / "o").findings


@pytest.mark.parametrize("program", FAMILIES)
def test_another_way_heals_over_all_steps(tmp_path: Path, program: type[Mixed]) -> None:
    found = findings(tmp_path, program, "other")
    assert all(finding.heals for finding in found), [finding.name for finding in found]


@pytest.mark.parametrize("program", FAMILIES)
def test_a_fault_on_that_line_is_named_first_and_stays(
    tmp_path: Path, program: type[Mixed]
) -> None:
    first = findings(tmp_path, program, "wrong")[0]
    assert not first.heals
    assert first.step == 0
    assert first.kind in ("argument_differs", "input_differs", "introduced")
