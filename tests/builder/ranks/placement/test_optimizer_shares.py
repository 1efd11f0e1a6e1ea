"""Shares of parameters that optimizers hold, against what modules read, in real runs."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from torch import Tensor, nn

from builder.dump.sources import find_sources
from builder.ranks.checks.self_check import CheckFinding, check_dump
from builder.ranks.layout.coordinates import Sizes
from builder.reasons import SharesUnread, SharesUnsummed
from msprobe.pytorch import PrecisionDebugger
from tests.rank_processes import run_ranks

_SIZES = (24, 24, 24, 24, 24)


class _Shared:
    """An optimizer of each rank's half of every parameter, as views of the model's memory."""

    def __init__(self, model: nn.Module, rank: int) -> None:
        self.parameters = list(model.parameters())
        halves = [p.detach().view(-1).chunk(2)[rank] for p in self.parameters]
        self.own = [nn.Parameter(half) for half in halves]
        self.rank, self.inner = rank, torch.optim.SGD(self.own, lr=0.1)

    def step(self, unsummed: int | None) -> None:
        for number, (whole, half) in enumerate(zip(self.parameters, self.own, strict=True)):
            assert whole.grad is not None
            gradient = whole.grad.clone()
            if number != unsummed:
                dist.all_reduce(gradient)
            half.grad = gradient.view(-1).chunk(2)[self.rank] / 2
        self.inner.step()

    def send(self) -> None:
        for whole, half in zip(self.parameters, self.own, strict=True):
            parts = [torch.empty_like(half.data) for _ in range(2)]
            dist.all_gather(parts, half.data)
            whole.data.view(-1).copy_(torch.cat(parts))


class _Scales(nn.Module):
    """Layers of one vector each: what they read is a parameter with a gradient of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.LayerNorm(size, bias=False) for size in _SIZES)

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = x + layer(x)
        return x


def _train(folder: Path, fault: str, rank: int) -> None:
    torch.manual_seed(0)
    model = _Scales()
    optimizer = _Shared(model, rank)
    axes = {"dp": {"rank": rank, "size": 2, "ranks": [0, 1]}}
    debugger = PrecisionDebugger(dump_path=folder / "dump", level="mix", task="statistics")
    for step in range(2):
        debugger.start(model, parallel={"axes": axes})
        batch = torch.randn(6, _SIZES[0], generator=torch.Generator().manual_seed(9 * step + rank))
        (model(batch) ** 3).mean().backward()
        optimizer.step(unsummed=2 if fault == "unsummed" else None)
        if fault != "unsent":
            optimizer.send()
        debugger.stop()
        debugger.step()
        model.zero_grad()
    debugger.close()


def _found(folder: Path, fault: str) -> list[CheckFinding]:
    run_ranks(partial(_train, folder, fault), 2, folder, "shares")
    return check_dump(find_sources(folder / "dump"), Sizes()).findings


@pytest.mark.parametrize(
    ("fault", "kind", "node"),
    [
        ("unsent", SharesUnread, "Module.layers.0.LayerNorm.forward.0"),
        ("unsummed", SharesUnsummed, "Module.layers.2.LayerNorm.forward.0"),
    ],
)
def test_shares_that_do_not_fit_are_named(
    tmp_path: Path, fault: str, kind: type[object], node: str
) -> None:
    named = [f.node for f in _found(tmp_path, fault) if isinstance(f.reasons[0], kind)]
    assert named[:1] == [node]


def test_shares_that_lie_end_to_end_and_are_summed_are_left_alone(tmp_path: Path) -> None:
    assert _found(tmp_path, "") == []
