"""What each kind of device can do: asked once for an operation and a format, and kept in a table.

Accelerators refuse formats operation by operation (float64 products, reductions of bool), and some
say so only when the result is read. So a device is asked with a small tensor whose result is read
back and compared with the CPU's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isclose
from typing import Any, NamedTuple

import torch

Compute = Callable[[torch.Tensor], list[torch.Tensor]]
_SAMPLE = 2040
"""Elements that a device is asked with: two rows of a sketch and a rest."""
_AGREES = 1e-2  # float32 sums, by products of TF32 or HF32 with 10 bits, against the CPU's


class Way(NamedTuple):
    """A way to compute numbers, by a name for the table. `takes` says which formats it is for."""

    name: str
    compute: Compute
    takes: Callable[[torch.dtype], bool] = lambda _: True


TABLE: dict[tuple[str, str, torch.dtype], bool] = {}
"""Whether a kind of device can go a way with elements of a format."""


def numbers_by(ways: Sequence[Way], tensor: torch.Tensor) -> list[torch.Tensor]:
    """Numbers of a tensor by the first way that its device can go; the last resort is the host."""
    for way in ways:
        if way.takes(tensor.dtype) and can(tensor.device, way, tensor.dtype):
            return way.compute(tensor)
    return ways[0].compute(on_host(tensor))


def can(device: torch.device, way: Way, dtype: torch.dtype) -> bool:
    """Whether a device can go a way with elements of a format; asked once for its kind."""
    key = device.type, way.name, dtype
    known = TABLE.get(key)
    if known is None:
        known = TABLE[key] = _asked(device, way, dtype)
    return known


def on_host(tensor: torch.Tensor) -> torch.Tensor:
    """The elements on the CPU; reading them waits for the device."""
    return tensor.cpu()


def _asked(device: torch.device, way: Way, dtype: torch.dtype) -> bool:
    sample = (torch.arange(_SAMPLE, device="cpu") % 5).to(dtype)
    try:
        there = [part.tolist() for part in way.compute(on_device(sample, device))]
    except Exception:  # each library has errors of its own
        return False
    here = [part.tolist() for part in way.compute(sample)]
    return all(map(_agree, _flat(there), _flat(here)))


def on_device(sample: torch.Tensor, device: torch.device) -> torch.Tensor:
    """A sample where a device is asked with it."""
    return sample.to(device)


def _flat(parts: list[Any]) -> list[float]:
    return [each for part in parts for each in (part if isinstance(part, list) else [part])]


def _agree(one: float, other: float) -> bool:
    return isclose(one, other, rel_tol=_AGREES, abs_tol=_AGREES * _SAMPLE)
