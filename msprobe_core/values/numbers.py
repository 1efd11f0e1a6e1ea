"""Max, Min, Mean and L2 norm of one tensor as JSON text, and how many NaN and infinities it has.

Sums accumulate in float32 or wider. Integers and bools have no Mean and Norm; complex values are
measured by their magnitude; a sparse tensor counts its zeros; a distributed one its local part.
"""

from __future__ import annotations

from math import hypot, isfinite
from typing import NamedTuple

import torch

from msprobe_core.values.text import number

_WIDE_INTEGERS = frozenset(
    getattr(torch, name) for name in ("uint16", "uint32", "uint64") if hasattr(torch, name)
)


def _limits() -> dict[torch.dtype, float]:
    """The largest finite number of each real and complex floating dtype."""
    found: dict[torch.dtype, float] = {}
    for dtype in vars(torch).values():
        if isinstance(dtype, torch.dtype) and (dtype.is_floating_point or dtype.is_complex):
            try:
                found[dtype] = torch.finfo(dtype).max
            except NotImplementedError:  # the packed 4-bit formats have no arithmetic at all
                continue
    return found


_LIMITS = _limits()
Number = float | bool | None
Scalars = tuple[torch.Tensor, torch.Tensor, torch.Tensor | None, torch.Tensor | None]


class Measured(NamedTuple):
    """Statistics as JSON members; `counts` holds NaN and Inf counts where there are any.

    `abnormal`: an element is not finite, or as large as its dtype can hold.
    """

    text: str
    counts: str
    abnormal: bool


_FEW = 16  # for so many elements three calls into torch cost more than a list
_EXACT = frozenset({torch.float32, torch.float64})
EMPTY = Measured(', "Max": null, "Min": null, "Mean": null, "Norm": null', "", False)


def measure_now(tensor: torch.Tensor, double: bool = False) -> Measured:
    """Measure a plain strided tensor on the CPU. Gradients must be off."""
    size = tensor.numel()
    if not size:
        return EMPTY
    dtype = tensor.dtype
    if size <= _FEW and dtype in _EXACT:
        few = _measure_few(tensor)
        if few is not None:
            return few
    if dtype is torch.float32 and not double:
        low, high = torch.aminmax(tensor)
        least, most = low.item(), high.item()
        mean = torch.sum(tensor).item() / size
        norm = _norm(tensor)
        if isfinite(norm) and isfinite(mean):
            text = f', "Max": {most!r}, "Min": {least!r}, "Mean": {mean!r}, "Norm": {norm!r}'
            return Measured(text, "", False)
    scalars = _scalars(tensor, double)
    numbers = [None if scalar is None else scalar.item() for scalar in scalars]
    counts = (0, 0)
    if dtype in _LIMITS and not _all_finite(numbers[3]):
        found = _nonfinite(tensor)
        counts = (int(found[0]), int(found[1]))
    return _measured(numbers, counts, _LIMITS.get(dtype))


def _measure_few(tensor: torch.Tensor) -> Measured | None:
    """Measure a few elements in Python, which is faster; None when one of them is not finite."""
    values = [tensor.item()] if tensor.ndim == 0 else tensor.reshape(-1).tolist()
    total = sum(values)
    if not isfinite(total):
        return None
    mean, norm = total / len(values), hypot(*values)
    if not isfinite(norm):
        return None
    most, least, limit = max(values), min(values), _LIMITS[tensor.dtype]
    text = f', "Max": {most!r}, "Min": {least!r}, "Mean": {mean!r}, "Norm": {norm!r}'
    return Measured(text, "", most >= limit or least <= -limit)


def measure_sparse(tensor: torch.Tensor, stored: torch.Tensor, double: bool) -> Measured:
    """Measure a sparse tensor by its stored elements; the others are zeros."""
    missing = tensor.numel() - stored.numel()
    if not stored.numel() or missing <= 0:
        return measure_now(stored if stored.numel() else torch.zeros(min(missing, 1)), double)
    high, low, mean, norm = _scalars(stored, double)
    share = stored.numel() / tensor.numel()
    numbers: list[Number] = [
        max(high.item(), 0),
        min(low.item(), 0),
        None if mean is None else mean.item() * share,
        None if norm is None else norm.item(),
    ]
    found = _nonfinite(stored) if stored.dtype in _LIMITS else (0, 0)
    return _measured(numbers, (int(found[0]), int(found[1])), _LIMITS.get(tensor.dtype))


class PendingNumbers:
    """Statistics that still lie on a device; `found` once they are read back."""

    __slots__ = ("found", "limit", "scalars")

    def __init__(self, scalars: list[torch.Tensor | None], limit: float | None) -> None:
        self.scalars, self.limit = scalars, limit
        self.found = EMPTY


def defer_measure(tensor: torch.Tensor, double: bool = False) -> PendingNumbers:
    """Measure on the tensor's device without waiting for it. Gradients must be off."""
    if not tensor.numel():
        return PendingNumbers([None] * 6, None)
    scalars: list[torch.Tensor | None] = list(_scalars(tensor, double))
    counts = _nonfinite(tensor) if tensor.dtype in _LIMITS else (None, None)
    return PendingNumbers([*scalars, *counts], _LIMITS.get(tensor.dtype))


def read_back(pending: list[PendingNumbers]) -> None:
    """Fetch all numbers from their devices, one transfer per dtype and device."""
    groups: dict[tuple[torch.dtype, torch.device], list[tuple[int, int, torch.Tensor]]] = {}
    for at, numbers in enumerate(pending):
        for place, scalar in enumerate(numbers.scalars):
            if scalar is not None:
                group = groups.setdefault((scalar.dtype, scalar.device), [])
                group.append((at, place, scalar.reshape(())))
    found: list[list[Number]] = [[None] * 6 for _ in pending]
    for members in groups.values():
        values = torch.stack([scalar for _, _, scalar in members]).tolist()
        for (at, place, _), value in zip(members, values, strict=True):
            found[at][place] = value
    for numbers, values in zip(pending, found, strict=True):
        nan, infinite = int(values[4] or 0), int(values[5] or 0)
        numbers.found = _measured(values[:4], (nan, infinite), numbers.limit)


def _norm(tensor: torch.Tensor) -> float:
    if tensor.numel() == 1:
        return abs(float(tensor.item()))
    # BLAS is faster; its order of sums depends on the alignment alone, which is checked so that
    # equal runs give equal numbers. Squares that overflow are not finite and measured again.
    if tensor.data_ptr() % 64 == 0 and tensor.is_contiguous():
        flat = tensor.view(-1)
        return float(torch.dot(flat, flat).item() ** 0.5)
    return float(torch.linalg.vector_norm(tensor).item())


def _scalars(tensor: torch.Tensor, double: bool) -> Scalars:
    dtype = tensor.dtype
    if dtype is torch.bool:
        return tensor.any(), tensor.all(), None, None
    if dtype not in _LIMITS:
        low, high = torch.aminmax(tensor.to(torch.int64) if dtype in _WIDE_INTEGERS else tensor)
        return high, low, None, None
    if dtype.is_complex:
        tensor = (tensor.to(torch.complex64) if dtype.itemsize == 4 else tensor).abs()
    elif dtype.itemsize == 1:  # the 8-bit formats have no reductions of their own
        tensor = tensor.to(torch.float32)
    wide = torch.float64 if double or tensor.dtype is torch.float64 else torch.float32
    low, high = torch.aminmax(tensor)
    mean = torch.mean(tensor, dtype=wide)
    return high, low, mean, torch.linalg.vector_norm(tensor, dtype=wide)


def _nonfinite(tensor: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    values = tensor.to(torch.float32) if tensor.element_size() == 1 else tensor
    return values.isnan().sum(), values.isinf().sum()


def _all_finite(norm: Number) -> bool:
    # The norm is the root of the sum of squares: finite only when every element is.
    return norm is not None and isfinite(norm)


def _measured(numbers: list[Number], counts: tuple[int, int], limit: float | None) -> Measured:
    high, low, mean, norm = (number(value) for value in numbers)
    text = f', "Max": {high}, "Min": {low}, "Mean": {mean}, "Norm": {norm}'
    nan, infinite = counts
    counted = f', "nan_count": {nan}' if nan else ""
    counted += f', "inf_count": {infinite}' if infinite else ""
    most, least = numbers[0], numbers[1]
    saturated = limit is not None and most is not None and least is not None
    saturated = saturated and (most >= limit or least <= -limit)  # type: ignore[operator]
    return Measured(text, counted, bool(nan or infinite or saturated))
