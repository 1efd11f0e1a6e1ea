"""A tensor whose memory was freed is one missing number, and reading it ends no process."""

from __future__ import annotations

import math

import pytest
import torch

from msprobe.pytorch.monitor.statistics import OPS, measure
from msprobe_core.torch.monitor.odd_tensors import is_freed, why_unmeasured


def freed(tensor: torch.Tensor) -> torch.Tensor:
    tensor.untyped_storage().resize_(0)
    return tensor


@pytest.mark.parametrize(
    "tensor",
    [
        freed(torch.ones(3000)),
        freed(torch.ones(3000)[7:9]),
        freed(torch.ones(30, 100).t()),
        freed(torch.ones(4, dtype=torch.int64)),
    ],
)
def test_freed_memory_is_not_read(tensor: torch.Tensor) -> None:
    assert is_freed(tensor)
    assert why_unmeasured(tensor) == "its memory was freed"
    numbers = dict(zip(OPS, measure(tensor, OPS, 1e-8), strict=True))
    assert numbers["shape"] == list(tensor.shape)
    assert all(math.isnan(numbers[op]) for op in ("norm", "min", "max", "mean", "zeros", "nans"))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "tensor",
    [
        torch.ones(3),
        torch.empty(0),
        torch.ones(4, 4).t()[1:, ::2],
        torch.ones(1).expand(5),
        torch._efficientzerotensor(3),
        torch.empty(3, device="meta"),
    ],
)
def test_what_has_its_memory_or_never_had_any_is_not_freed(tensor: torch.Tensor) -> None:
    assert not is_freed(tensor)
