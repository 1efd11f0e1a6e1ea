"""Numbers and sketch of a tensor on the CPU in one reading, by a kernel of the package.

It (`one_pass.c`) is compiled when the package is built on a machine with a C compiler. Without it
torch's reductions do the same in four readings (`numbers`, `sketch`), to the same digits.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import torch

from msprobe_core.format import PROJECTIONS

Kernel = Callable[[int, int, int, int, int], int]
"""Address, number and distance of the elements, whether a sketch is wanted, where the numbers go;
0 if all elements are finite.
"""
LIBRARY = Path(__file__).with_name("libone_pass.so")
_NAMES = {
    torch.float32: "msprobe_measure_float32",
    torch.bfloat16: "msprobe_measure_bfloat16",
}
_FIELDS = 4 + PROJECTIONS
_address_of: Callable[[torch.Tensor], int] = torch._C.TensorBase.data_ptr


class Read(NamedTuple):
    """Least and largest element, sum and sum of squares, and the projections, if any."""

    low: float
    high: float
    total: float
    squares: float
    projections: list[float]


def load(library: Path) -> dict[torch.dtype, Kernel]:
    """The kernel for each format; none where the package was built without, or for elsewhere."""
    try:
        loaded = ctypes.CDLL(str(library))
        found = {dtype: getattr(loaded, name) for dtype, name in _NAMES.items()}
    except (OSError, AttributeError):
        return {}
    address, count, flag = ctypes.c_void_p, ctypes.c_int64, ctypes.c_int
    for kernel in found.values():
        kernel.argtypes, kernel.restype = (address, count, count, flag, address), ctypes.c_int
    return found


kernels = load(LIBRARY)


class _Numbers(threading.local):
    """Where the kernel writes for a thread."""

    def __init__(self) -> None:
        self.fields = (ctypes.c_double * _FIELDS)()
        self.address = ctypes.addressof(self.fields)


_numbers = _Numbers()


def read_once(flat: torch.Tensor, sketched: bool) -> Read | None:
    """Read a tensor of one dimension on the CPU; None without a kernel, or where some elements are
    not finite.
    """
    kernel = kernels.get(flat.dtype)
    if kernel is None or not flat.is_cpu or flat.is_neg():  # negated by a mark, not in memory
        return None
    numbers, place = _numbers, _address_of(flat)
    if kernel(place, flat.numel(), flat.stride(0), sketched, numbers.address):
        return None
    high, low, total, squares, *projections = numbers.fields
    return Read(low, high, total, squares, projections)
