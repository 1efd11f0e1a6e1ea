"""Max, Min, Mean and L2 norm of one tensor, and how many NaN and infinite elements it has.

Sums accumulate in float32 or wider. Integers and bools have no Mean and Norm; complex values are
measured by their magnitude; a sparse tensor counts its zeros; a distributed one its local part.
"""

from __future__ import annotations

from typing import NamedTuple

import torch

_FLOATS = frozenset({torch.float32, torch.float64})
_HALVES = frozenset({torch.float16, torch.bfloat16})
_WIDE_INTEGERS = frozenset(
    getattr(torch, name) for name in ("uint16", "uint32", "uint64") if hasattr(torch, name)
)


class Statistics(NamedTuple):
    """Scalars of one tensor: Python numbers, or 0-d tensors that still lie on a device."""

    max: object = None
    min: object = None
    mean: object = None
    norm: object = None
    nan_count: object = 0
    inf_count: object = 0


EMPTY = Statistics()


def measure(tensor: torch.Tensor, double: bool = False) -> Statistics:
    """The statistics of a plain strided tensor as 0-d tensors on its device.

    `double` accumulates in float64. Gradients must be off. An empty tensor gives EMPTY.
    """
    if tensor.numel() == 0:
        return EMPTY
    dtype = tensor.dtype
    if dtype in _FLOATS or dtype in _HALVES:
        return _measure_float(tensor, double)
    if dtype is torch.bool:
        return Statistics(tensor.any(), tensor.all())
    if dtype.is_complex:
        return _measure_float(tensor.abs() if dtype != torch.complex32 else _abs32(tensor), double)
    if dtype.is_floating_point:  # the 8-bit formats have no reductions of their own
        return _measure_float(tensor.to(torch.float32), double)
    low, high = torch.aminmax(tensor.to(torch.int64) if dtype in _WIDE_INTEGERS else tensor)
    return Statistics(high, low)


def _measure_float(tensor: torch.Tensor, double: bool) -> Statistics:
    low, high = torch.aminmax(tensor)
    wide = torch.float64 if double or tensor.dtype is torch.float64 else torch.float32
    mean = torch.mean(tensor, dtype=wide)
    norm = torch.linalg.vector_norm(tensor, dtype=wide)
    return Statistics(high, low, mean, norm)


def _abs32(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.to(torch.complex64).abs()


def count_nonfinite(tensor: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """How many elements are NaN and how many infinite, as 0-d tensors on the device."""
    values = tensor
    if not (values.is_floating_point() or values.is_complex()):
        return torch.zeros((), dtype=torch.int64), torch.zeros((), dtype=torch.int64)
    if values.element_size() == 1:
        values = values.to(torch.float32)
    return values.isnan().sum(), values.isinf().sum()
