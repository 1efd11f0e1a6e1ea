"""Largest, smallest, mean and L2 norm of a tensor, as the checks keep them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

Summary = dict[str, float | None]


def summarise(tensor: torch.Tensor) -> Summary:
    """The four numbers of a real tensor of any dtype; None for an empty one.

    Sums accumulate in float64 where the device has it, so that two devices agree on them.
    """
    import torch

    values = tensor.detach()
    if values.is_complex():
        values = values.abs()
    if not values.numel():
        return dict.fromkeys(("max", "min", "mean", "norm"))
    if not values.is_floating_point():
        values = values.double()
    elif values.element_size() == 1:  # float8 has no reductions
        values = values.float()
    try:
        total = values.sum(dtype=torch.float64)
        norm = torch.linalg.vector_norm(values, dtype=torch.float64)
    except (RuntimeError, TypeError):  # a device without float64
        total, norm = values.float().sum(), torch.linalg.vector_norm(values.float())
    return {
        "max": float(values.max()),
        "min": float(values.min()),
        "mean": float(total) / values.numel(),
        "norm": float(norm),
    }


def storable(summary: Summary) -> dict[str, float | str | None]:
    """The numbers as JSON can hold them: what is not finite becomes text."""
    return {
        name: value if value is None or math.isfinite(value) else str(value)
        for name, value in summary.items()
    }
