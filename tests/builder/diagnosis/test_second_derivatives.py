"""A backward of one's own that cannot be differentiated is named, not the calls that then lack."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

import builder
from builder.reasons import AttributeDiffers
from msprobe.pytorch import PrecisionDebugger


class _Wave(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, cut: bool) -> Tensor:
        ctx.save_for_backward(x)
        ctx.cut = cut
        return torch.sin(x) + x

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        (x,) = ctx.saved_tensors
        x = x.detach() if ctx.cut else x
        return gradients[0] * (torch.cos(x) + 1), None


class _Net(nn.Module):
    def __init__(self, cut: bool) -> None:
        super().__init__()
        self.first, self.middle, self.last = nn.Linear(1, 16), nn.Linear(16, 16), nn.Linear(16, 1)
        self.cut = cut

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.middle(torch.tanh(self.first(x)))
        return self.last(_Wave.apply(hidden, self.cut))


def recorded(folder: Path, *, cut: bool) -> Path:
    torch.manual_seed(0)
    model, x = _Net(cut), torch.randn(32, 1, requires_grad=True)
    debugger = PrecisionDebugger(dump_path=str(folder), level="L1")
    with debugger.recording(model):
        (slope,) = torch.autograd.grad(model(x).sum(), x, create_graph=True)
        (bend,) = torch.autograd.grad(slope.sum(), x, create_graph=True)
        (bend + slope).square().mean().backward()
    debugger.close()
    return folder


def test_the_call_that_no_longer_wants_a_gradient_is_named_first(tmp_path: Path) -> None:
    ours, theirs = recorded(tmp_path / "a", cut=True), recorded(tmp_path / "b", cut=False)
    first, *_ = builder.build(ours, theirs, tmp_path / "o").findings
    assert first.name in ("Torch.cos.0.forward", "Tensor.detach.0.forward")
    if first.name == "Torch.cos.0.forward":
        assert isinstance(first.reasons[0], AttributeDiffers)
        assert first.reasons[0].attribute == "requires_grad"
