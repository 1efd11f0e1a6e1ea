"""Reflected operators are told by what their operands are."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from torch import nn

from msprobe_core import PrecisionDebugger
from tests.msprobe_core.dump_reading import RankDump

Make = Callable[..., PrecisionDebugger]
Read = Callable[[], list[RankDump]]
SCALE = 3.0


class Holder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.eps, self.weight, self.act = 1e-5, nn.Parameter(torch.ones(3)), nn.ReLU()
        self.sizes = [2, 3]


holder, x, n = Holder(), torch.ones(3), 4
CASES: list[tuple[Callable[[], object], str]] = [
    (lambda: math.sqrt(2.0) * (x + 1), "__rmul__"),
    (lambda: -math.log(3) * torch.relu(x), "__rmul__"),
    (lambda: (x + 1) * math.sqrt(2.0), "__mul__"),
    (lambda: torch.relu(x) * -math.log(3), "__mul__"),
    (lambda: holder.eps + x, "__radd__"),
    (lambda: x + holder.eps, "__add__"),
    (lambda: holder.weight * SCALE, "__mul__"),
    (lambda: SCALE * holder.weight, "__rmul__"),
    (lambda: len(holder.sizes) * x, "__rmul__"),
    (lambda: x * len(holder.sizes), "__mul__"),
    (lambda: x.shape[0] * x, "__rmul__"),
    (lambda: x * x.size(0), "__mul__"),
    (lambda: holder.act(x) * 2, "__mul__"),
    (lambda: 2 * holder.act(x), "__rmul__"),
    (lambda: (1 + 2 * n) * x, "__rmul__"),
    (lambda: 1 - (x > 0).float(), "__rsub__"),
    (lambda: x.max().item() * x[:2], "__rmul__"),
]


def adds_to_a_number() -> object:
    total: object = 0
    total += x.float()  # type: ignore[operator]
    return total


@pytest.mark.parametrize(("run", "name"), [*CASES, (adds_to_a_number, "__radd__")])
def test_the_last_operator_has_its_name(
    run: Callable[[], object], name: str, debugger: Make, dumps: Read
) -> None:
    target = debugger(level="L1")
    target.start()
    run()
    target.stop()
    target.step()
    operators = [entry for entry in dumps()[0].names if entry.startswith("Tensor.__")]
    assert operators[-1] == f"Tensor.{name}.0.forward"
