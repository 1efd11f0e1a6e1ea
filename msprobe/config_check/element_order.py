"""One number that tells tensors apart whose elements are the same in another order.

Largest, smallest, mean and norm are those of any permutation: a batch whose rows were shuffled has
them all. A sum in which each place counts for itself has not.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

ORDER = "order"
# An odd number near 2³² over the golden ratio: its multiples modulo 2³² visit every number once,
# and neighbours lie far apart (multiplicative hashing, D. Knuth, TAOCP 3, 6.4).
_STEP = 2_654_435_769
_CHUNK = 1 << 22  # elements at a time: the weights of their places take 16 bytes each


def placed_sum(tensor: torch.Tensor) -> float | None:
    """Σ w(i)·x(i) in C order, w(i) = (i · 2654435769 mod 2³²) / 2³² − 1/2.

    None for an empty tensor, and where an element is not finite. Complex numbers count by their
    magnitude, as in the other statistics. Two places have one weight only if they lie a multiple
    of 2³² apart. Summed up in float64 where the device has it.
    """
    import torch

    flat = tensor.detach().reshape(-1)
    if not flat.numel():
        return None
    wide = torch.float64 if _has_float64(flat) else torch.float32
    parts = [
        _part(flat[first : first + _CHUNK], first, wide) for first in range(0, flat.numel(), _CHUNK)
    ]
    total = float(torch.stack(parts).sum())
    return total if math.isfinite(total) else None


def is_same_order(one: float, other: float, norm: float) -> bool:
    """Whether two such sums are of one order: they differ by the rounding of sums at most.

    Two elements that changed places move the sum by the product of what they and the weights of
    their places differ by: for elements as large as the rest some norm / √count.
    """
    return abs(one - other) <= 1e-6 * norm


def _part(values: torch.Tensor, first: int, wide: torch.dtype) -> torch.Tensor:
    import torch

    places = torch.arange(first, first + values.numel(), device=values.device)
    weights = (places * _STEP % 2**32).to(wide) / 2**32 - 0.5
    numbers = values.abs() if values.is_complex() else values
    return (numbers.to(wide) * weights).sum()


def _has_float64(tensor: torch.Tensor) -> bool:
    import torch

    try:
        torch.zeros(1, dtype=torch.float64, device=tensor.device)
    except (RuntimeError, TypeError):
        return False
    return True
