"""A backward of one's own that cannot be differentiated is named, not the calls that then lack."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import builder
from builder.reasons import ExtraCalls, MissingCalls
from builder.results.followers.spread import shares_of
from builder.results.followers.step import step_followers
from builder.results.open_results import open_results
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


@pytest.mark.parametrize("problem_cuts", [True, False])
def test_the_call_that_cuts_is_named_and_all_goes_back_to_it(
    tmp_path: Path, problem_cuts: bool
) -> None:
    ours = recorded(tmp_path / "a", cut=problem_cuts)
    theirs = recorded(tmp_path / "b", cut=not problem_cuts)
    built = builder.build(ours, theirs, tmp_path / "o")
    (first,) = built.findings
    assert first.name == "Tensor.detach.0.forward"
    assert isinstance(first.reasons[0], ExtraCalls if problem_cuts else MissingCalls)
    with closing(open_results(built.path)) as results:
        shares = shares_of(step_followers(results, 0, 0))
    assert shares.others == 0
    assert shares.causes[0].count > 0
