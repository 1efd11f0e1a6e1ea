"""The sketch of docs/formats.md, version 1, in NumPy: eight random projections of the elements.

`msprobe_core.torch.measure.sketch` makes the same numbers; a test compares the two.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from msprobe_core.format import LARGEST, PROJECTIONS

_BLOCKS, _BLOCK = 8, 127
_COLUMNS = _BLOCKS * _BLOCK
_CHUNK = 320  # rows at a time: their float64 copy stays small
Doubles = NDArray[np.float64]


def sketch(array: NDArray[Any], extreme: float) -> Doubles:
    """The projections; what is as large as a mask counts as zero."""
    flat = _as_floats(array)
    if array.dtype.kind in "fc":
        limit = largest_sketched(array.dtype)
        if not extreme < limit:
            flat = np.where(np.abs(flat) < limit, flat, 0.0)
    rows, rest = divmod(flat.size, _COLUMNS)
    total = np.zeros(PROJECTIONS)
    for start in range(0, rows, _CHUNK):
        total += _project(flat, start, min(rows - start, _CHUNK))
    if rest:
        total += _last_row(rows, rest) @ flat[-rest:].astype(np.float64)
    return total


@lru_cache
def largest_sketched(dtype: np.dtype[Any]) -> float:
    """From which magnitude on the elements of a floating or complex array count as zero."""
    return min(LARGEST, float(np.finfo(dtype).max))


def _project(flat: NDArray[Any], start: int, count: int) -> Doubles:
    """The projections of `count` whole rows from row `start` on."""
    part = flat[start * _COLUMNS : (start + count) * _COLUMNS].astype(np.float64)
    table = part.reshape(count, _BLOCKS, _BLOCK)
    folded = np.einsum("bc,cbk->bk", _row_signs(start, count), table)
    return np.asarray(_columns() @ folded.reshape(-1))


def _as_floats(array: NDArray[Any]) -> NDArray[Any]:
    """The elements in C order; real and imaginary parts of a complex number follow each other."""
    flat = np.ascontiguousarray(array).reshape(-1)
    return flat.view(flat.real.dtype) if flat.dtype.kind == "c" else flat


@lru_cache(maxsize=512)
def _last_row(row: int, size: int) -> Doubles:
    signs = _signs(_COLUMNS + row, 1).repeat(_BLOCK)
    return (_columns() * signs)[:, :size]


@lru_cache(maxsize=256)
def _row_signs(first: int, count: int) -> Doubles:
    return _signs(_COLUMNS + first, count)


@lru_cache(maxsize=1)
def _columns() -> Doubles:
    return _signs(0, _COLUMNS)


def _signs(first: int, count: int) -> Doubles:
    """±1 for each projection and place: bit k of the place's hash decides for projection k."""
    places = np.arange(first, first + count, dtype=np.int64)
    bits = _hash(places)[None] >> np.arange(PROJECTIONS)[:, None] & 1
    return (1 - 2 * bits).astype(np.float64)


def _hash(places: NDArray[np.int64]) -> NDArray[np.int64]:
    """The finaliser of MurmurHash3 (32 bits), of integers from 0 to 2³² − 1."""
    mask = 0xFFFF_FFFF
    h = places
    h = (h ^ (h >> 16)) * 0x85EB_CA6B & mask
    h = (h ^ (h >> 13)) * 0xC2B2_AE35 & mask
    return h ^ (h >> 16)
