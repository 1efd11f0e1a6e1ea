"""Statistics that are computed where a tensor lies and fetched later, many in one transfer."""

from __future__ import annotations

from math import inf

import torch

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
from msprobe_core.torch.measure.sketch import sketch, sketch_text


class PendingNumbers:
    """Statistics that still lie on a device; `found` and `sketch` once they are read back."""

    __slots__ = ("found", "limit", "projections", "scalars", "sketch", "zero")

    def __init__(
        self,
        scalars: list[torch.Tensor | None],
        limit: float | None,
        projections: torch.Tensor | None = None,
    ) -> None:
        self.scalars, self.limit, self.projections = scalars, limit, projections
        self.zero = 0  # what is added to extremes
        self.found: Measured = EMPTY
        self.sketch = ""


def defer_measure(
    tensor: torch.Tensor, double: bool = False, sketched: bool = False
) -> PendingNumbers:
    """Measure on the tensor's device without waiting for it. Gradients must be off."""
    if not tensor.numel():
        return PendingNumbers([None] * 6, None)
    whole, zero = as_integers(tensor) if tensor.dtype in WIDE_INTEGERS else (tensor, 0)
    scalars = _scalars(whole, double)
    counts = nonfinite_counts(tensor) if tensor.dtype in LIMITS else (None, None)
    projections = sketch(tensor, inf, double) if sketched and tensor.numel() > 1 else None
    pending = PendingNumbers([*scalars, *counts], LIMITS.get(tensor.dtype), projections)
    pending.zero = zero
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
        values = torch.stack([scalar for _, _, scalar in members]).tolist()
        for (at, place, _), value in zip(members, values, strict=True):
            fetched[at][place] = value
    for numbers, values in zip(pending, fetched, strict=True):
        nan, infinite = int(values[4] or 0), int(values[5] or 0)
        if numbers.zero:
            values[:2] = [int(value or 0) + numbers.zero for value in values[:2]]
        numbers.found = measured(values[:4], (nan, infinite), numbers.limit)
    _read_sketches([numbers for numbers in pending if numbers.projections is not None])


def _read_sketches(pending: list[PendingNumbers]) -> None:
    for device in {numbers.projections.device for numbers in pending}:  # type: ignore[union-attr]
        there = [n for n in pending if n.projections.device == device]  # type: ignore[union-attr]
        stacked = torch.stack([n.projections.double() for n in there])  # type: ignore[union-attr]
        for numbers, projections in zip(there, stacked.tolist(), strict=True):
            numbers.sketch = sketch_text(projections)


def _scalars(tensor: torch.Tensor, double: bool) -> list[torch.Tensor | None]:
    dtype = tensor.dtype
    if dtype is torch.bool:
        return [tensor.any(), tensor.all(), None, None]
    if dtype not in LIMITS:
        low, high = torch.aminmax(tensor)
        return [high, low, None, None]
    values = as_measured(tensor)
    wide = torch.float64 if double or values.dtype is torch.float64 else torch.float32
    low, high = torch.aminmax(values)
    # Divided by the largest, squares neither overflow (masks of -3.4e38) nor underflow.
    scale = torch.maximum(high.abs(), low.abs()).to(wide)
    scale = torch.where((scale > 0) & scale.isfinite(), scale, 1.0)
    scaled = values.to(wide) / scale
    return [high, low, scaled.mean() * scale, torch.linalg.vector_norm(scaled) * scale]
