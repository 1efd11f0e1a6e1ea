"""What counts as a weight of a run that recorded its calls alone."""

from __future__ import annotations

from math import isclose
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from builder.dump.reader import read_dump
from builder.match.implementations.parameters import parameters_of
from builder.match.tree import build_tree
from msprobe_core import PrecisionDebugger


class Unfolded(nn.Module):
    """A convolution written out: its weight is read through a view, which leaves no values."""

    def __init__(self, plain: bool) -> None:
        super().__init__()
        self.conv, self.plain = nn.Conv2d(3, 4, 3), plain

    def forward(self, x: Tensor) -> Tensor:
        if self.plain:
            y: Tensor = self.conv(x)
            return y
        # Its gradient is a sum over the batch, which no recorded call puts out.
        y = torch.matmul(self.conv.weight.flatten(1), F.unfold(x, 3)) + self.conv.bias[:, None]
        return y.view(len(x), 4, 6, 6)


@pytest.mark.parametrize("plain", [True, False])
@pytest.mark.parametrize("kind", [torch.optim.SGD, torch.optim.Adam])
def test_gradients_that_an_optimizer_reads_are_no_weights(
    tmp_path: Path, plain: bool, kind: type[torch.optim.Optimizer]
) -> None:
    torch.manual_seed(0)
    net = Unfolded(plain)
    more = {"momentum": 0.9} if kind is torch.optim.SGD else {}
    optimizer = kind(net.parameters(), lr=0.1, foreach=False, **more)  # type: ignore[call-arg]  # each takes these
    debugger = PrecisionDebugger(level="L1", dump_path=str(tmp_path))
    for step in range(2):
        weights = [each.detach().clone() for each in net.parameters()]
        with debugger.recording(net):
            optimizer.zero_grad()
            net(torch.randn(2, 3, 8, 8)).square().mean().backward()
            optimizer.step()
        (rank,) = (tmp_path / f"step{step}").iterdir()
        found = parameters_of(build_tree(read_dump(rank)))
        assert found
        own = [(tuple(each.shape), float(each.norm())) for each in weights]
        for one in found:
            norms = [norm for shape, norm in own if shape == one.shape]
            assert any(isclose(one.numbers.norm, norm, rel_tol=1e-5) for norm in norms)
    debugger.close()
