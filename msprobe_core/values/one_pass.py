"""Numbers and sketch of a row of elements on the CPU in one reading, by a kernel of the package.

It (`one_pass.c`) is compiled when the package is built on a machine with a C compiler. Without it
the frameworks measure by reductions of their own, in several readings, to the same digits.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from pathlib import Path
from struct import Struct
from typing import NamedTuple

from msprobe_core.format import PROJECTIONS

Kernel = Callable[[int, int, int, int, int], int]
"""Address, number and distance of the elements, whether a sketch is wanted, where the numbers go;
0 if all elements are finite.
"""
LIBRARY = Path(__file__).with_name("libone_pass.so")
_NAMES = {"float32": "msprobe_measure_float32", "bfloat16": "msprobe_measure_bfloat16"}
_FIELDS = Struct(f"{4 + PROJECTIONS}d")


class Read(NamedTuple):
    """Least and largest element, sum and sum of squares, and the projections, if any."""

    low: float
    high: float
    total: float
    squares: float
    projections: list[float]


def load(library: Path = LIBRARY) -> dict[str, Kernel]:
    """The kernel for each format; none where the package was built without, or for elsewhere."""
    try:
        loaded = ctypes.CDLL(str(library))
        found = {name: getattr(loaded, symbol) for name, symbol in _NAMES.items()}
    except (OSError, AttributeError):
        return {}
    address, count, flag = ctypes.c_void_p, ctypes.c_int64, ctypes.c_int
    for kernel in found.values():
        kernel.argtypes, kernel.restype = (address, count, count, flag, address), ctypes.c_int
    return found


class _Numbers(threading.local):
    """Where the kernel writes for a thread."""

    def __init__(self) -> None:
        self.fields = (ctypes.c_char * _FIELDS.size)()
        self.address = ctypes.addressof(self.fields)


_numbers = _Numbers()


def read_elements(
    kernel: Kernel, address: int, count: int, distance: int, sketched: bool
) -> Read | None:
    """Read a row of elements in memory; None where some are not finite."""
    numbers = _numbers
    if kernel(address, count, distance, sketched, numbers.address):
        return None
    high, low, total, squares, *projections = _FIELDS.unpack(numbers.fields)
    return Read(low, high, total, squares, projections)
