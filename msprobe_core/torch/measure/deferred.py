"""Statistics that are computed where a tensor lies and fetched later, many in one transfer."""

from __future__ import annotations

from math import inf
from typing import Any

import torch

from msprobe_core.torch.measure.capabilities import Way, can, numbers_by, on_host
from msprobe_core.torch.measure.numbers import (
    EMPTY,
    LIMITS,
    WIDE_INTEGERS,
    Measured,
    Number,
    as_integers,
    as_measured,
    measured,
    nonfinite_counts,
)
from msprobe_core.torch.measure.sketch import sketch
from msprobe_core.values.text import sketch_text


class PendingNumbers:
    """Statistics that still lie on a device; `found` and `sketch` once they are read back."""

    __slots__ = ("dtype", "found", "projections", "scalars", "sketch", "zero")

    def __init__(self, dtype: torch.dtype, scalars: list[torch.Tensor | None]) -> None:
        self.dtype, self.scalars = dtype, scalars
        self.projections: torch.Tensor | None = None
        self.zero = 0  # what is added to extremes
        self.found: Measured = EMPTY
        self.sketch = ""

    def take(self, values: list[Number]) -> None:
        """Take the four statistics and the counts of NaN and of infinities."""
        if self.dtype not in LIMITS and values[0] is not None:
            whole = bool if self.dtype is torch.bool else int
            values[:2] = [whole(value or 0) + self.zero for value in values[:2]]
            if self.dtype is torch.bool:
                values[:2] = [bool(value) for value in values[:2]]
        nan, infinite = int(values[4] or 0), int(values[5] or 0)
        self.found = measured(values[:4], (nan, infinite), LIMITS.get(self.dtype))


def defer_measure(
    tensor: torch.Tensor, double: bool = False, sketched: bool = False
) -> PendingNumbers:
    """Measure on the tensor's device without waiting for it. Gradients must be off.

    Each number is computed in the first way that the device can go, by itself.
    """
    dtype = tensor.dtype
    pending = PendingNumbers(dtype, [None] * 6)
    if not tensor.numel():
        return pending
    whole, pending.zero = as_integers(tensor) if dtype in WIDE_INTEGERS else (tensor, 0)
    pending.scalars[:2] = numbers_by(_EXTREMES, whole)
    if dtype in LIMITS:
        pending.scalars[2:4] = numbers_by(_SUMS[double], tensor)
        pending.scalars[4:] = numbers_by(_COUNTS, tensor)
    if sketched and tensor.numel() > 1:
        (pending.projections,) = numbers_by(_SKETCHES[double], tensor)
    return pending


def read_back(pending: list[PendingNumbers]) -> None:
    """Fetch all numbers from their devices, one transfer per dtype and device."""
    groups: dict[tuple[torch.dtype, torch.device], list[tuple[int, int, torch.Tensor]]] = {}
    for at, numbers in enumerate(pending):
        for place, scalar in enumerate(numbers.scalars):
            if scalar is not None:
                group = groups.setdefault((scalar.dtype, scalar.device), [])
                group.append((at, place, scalar.reshape(())))
    fetched: list[list[Number]] = [[None] * 6 for _ in pending]
    for members in groups.values():
        for (at, place, _), value in zip(members, _together([m[2] for m in members]), strict=True):
            fetched[at][place] = value
    for numbers, values in zip(pending, fetched, strict=True):
        numbers.take(values)
    _read_sketches([numbers for numbers in pending if numbers.projections is not None])


def _read_sketches(pending: list[PendingNumbers]) -> None:
    groups: dict[tuple[torch.dtype, torch.device], list[PendingNumbers]] = {}
    for numbers in pending:
        assert numbers.projections is not None
        key = numbers.projections.dtype, numbers.projections.device
        groups.setdefault(key, []).append(numbers)
    for there in groups.values():
        read = _together([each.projections for each in there if each.projections is not None])
        for numbers, projections in zip(there, read, strict=True):
            numbers.sketch = sketch_text(projections)


def _together(parts: list[torch.Tensor]) -> list[Any]:
    """The elements of tensors of one shape: in one transfer where the device can join them."""
    if can(parts[0].device, _JOINED, parts[0].dtype):
        read: list[Any] = torch.stack(parts).tolist()
        return read
    return [on_host(part).tolist() for part in parts]


def _extremes(tensor: torch.Tensor) -> list[torch.Tensor]:
    if tensor.dtype is torch.bool:
        return [tensor.any(), tensor.all()]
    low, high = torch.aminmax(as_measured(tensor))
    return [high, low]


def _sums(tensor: torch.Tensor, wide: torch.dtype) -> list[torch.Tensor]:
    """Mean and L2 norm; squares of elements divided by the largest neither overflow (masks of
    -3.4e38) nor underflow.
    """
    values = as_measured(tensor)
    wide = torch.float64 if values.dtype is torch.float64 else wide
    low, high = torch.aminmax(values)
    scale = torch.maximum(high.abs(), low.abs()).to(wide)
    scale = torch.where((scale > 0) & scale.isfinite(), scale, 1.0)
    scaled = values.to(wide) / scale
    return [scaled.mean() * scale, torch.linalg.vector_norm(scaled) * scale]


def _sums_narrow(tensor: torch.Tensor) -> list[torch.Tensor]:
    """Mean and L2 norm by operations of float32 alone; an infinite scale leaves infinities."""
    values = tensor.to(torch.float32)
    low, high = torch.aminmax(values)
    scale = torch.maximum(high.abs(), low.abs()).clamp(1e-37, 3e38)
    scaled = values / scale
    return [scaled.mean() * scale, (scaled * scaled).sum().sqrt() * scale]


def _counts_narrow(tensor: torch.Tensor) -> list[torch.Tensor]:
    values = tensor.to(torch.float32)
    nan = torch.ne(values, values).to(torch.float32)
    infinite = torch.eq(values.abs(), inf).to(torch.float32)
    return [nan.sum(), infinite.sum()]


def _fits_float32(dtype: torch.dtype) -> bool:
    return dtype in _NARROW or (dtype.itemsize == 1 and not dtype.is_complex)


_NARROW = frozenset(
    {torch.float32, torch.float16, torch.bfloat16, torch.int16, getattr(torch, "uint16", None)}
)
_EXTREMES = (
    Way("extremes", _extremes),
    Way("extremes of float32", lambda t: _extremes(t.to(torch.float32)), _fits_float32),
)
_SUMS = {
    double: (
        *([Way("sums in float64", lambda t: _sums(t, torch.float64))] if double else []),
        Way("sums", lambda t: _sums(t, torch.float32)),
        Way("sums of float32", _sums_narrow, _fits_float32),
    )
    for double in (False, True)
}
_COUNTS = (
    Way("counts", lambda t: list(nonfinite_counts(t))),
    Way("counts of float32", _counts_narrow, _fits_float32),
)
_SKETCHES = {
    double: (
        Way(f"sketch {double}", lambda t, double=double: [sketch(t, inf, double)]),  # type: ignore[misc]  # the default binds the loop's value
        Way("sketch in float32", lambda t: [sketch(t, inf, False, torch.float32)], _fits_float32),
    )
    for double in (False, True)
}
_JOINED = Way("joined", lambda t: [torch.stack([t[0], t[1]])])
