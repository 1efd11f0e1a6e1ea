"""Two sound programs of one model under autocast: what rounding leaves begins nowhere."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import builder
from builder.work.options import BuildOptions
from msprobe.pytorch import PrecisionDebugger

WIDTH, HEADS = 32, 4
Attention = Callable[[Tensor, Tensor, Tensor], Tensor]


def fused(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return F.scaled_dot_product_attention(q, k, v)


def by_hand(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return (torch.matmul(q, k.transpose(-2, -1)) * q.shape[-1] ** -0.5).softmax(-1) @ v


def scaled_twice(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return fused(q * q.shape[-1] ** -0.5, k, v)


class Layer(nn.Module):
    """A norm and attention; the gradient of the keys' bias is zero but for rounding."""

    def __init__(self, attention: Attention) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.q, self.k, self.v, self.o = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.attention = attention

    def forward(self, x: Tensor) -> Tensor:
        h = self.norm(x)
        parts = (each(h).unflatten(-1, (HEADS, -1)).transpose(1, 2) for each in (self.q, self.k))
        v = self.v(h).unflatten(-1, (HEADS, -1)).transpose(1, 2)
        return x + self.o(self.attention(*parts, v).transpose(1, 2).flatten(2))


def recorded(folder: Path, attention: Attention) -> Path:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, WIDTH), Layer(attention), Layer(attention))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, weight_decay=0.01)
    debugger = PrecisionDebugger(dump_path=str(folder), level="L1")
    x = torch.randn(4, 20, 3)
    with debugger.recording(model):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            out = model(x)
        out.float().square().mean().backward()
        optimizer.step()
    debugger.close()
    return folder


@pytest.mark.parametrize(("attention", "begins"), [(fused, False), (scaled_twice, True)])
def test_what_rounding_leaves_begins_nowhere_and_a_fault_does(
    attention: Attention, begins: bool, tmp_path: Path
) -> None:
    ours = recorded(tmp_path / "problem", attention)
    theirs = recorded(tmp_path / "benchmark", by_hand)
    result = builder.build(ours, theirs, tmp_path / "o", BuildOptions(same="model"))
    assert bool(result.findings) is begins
    if begins:
        assert result.findings[0].name == "Functional.linear.4.forward"
