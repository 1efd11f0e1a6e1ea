"""What is known of each row of a value: of elements in a file, or as the dumper recorded it.

A row holds what one token has in a value: all dimensions behind those of batch and sequence.
"""

from __future__ import annotations

import base64
import binascii
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from builder.dump.reader import Dump
from builder.dump.tensor_files import TensorFileError, open_tensor
from builder.dump.values import Record
from msprobe_core.format import ROW_NUMBERS, is_integer_dtype

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
# Of elements at hand as many projections are taken as a place's hash has bits: they tell how far
# apart two rows are within an eighth.
_MEASURED = 32
# Rows are read in blocks of so many numbers: a value of a long context is larger than memory.
_BLOCK = 1 << 22


def integers_of(record: Record, dump: Dump) -> Integers | None:
    """The elements of a tensor of integers in their order; None where nothing tells them."""
    if not is_integer_dtype(record.dtype or "") or record.shape is None:
        return None
    size = prod(record.shape)
    if record.rows is not None:
        told = _decoded(record.rows, "<i8", (size,))
        return None if told is None else told.astype(np.int64)
    file = _file_of(record, dump)
    if file is None or not size:
        return None
    try:
        with open_tensor(file) as data:
            return data.block(0, size).astype(np.int64) if data.size == size else None
    except TensorFileError:
        return None


def row_numbers_of(record: Record, dump: Dump, rows: int) -> Floats | None:
    """The numbers of each row of a value that has so many rows; None where nothing tells them.

    Largest, smallest, mean and norm of a row, and its projections: ROW_PROJECTIONS as recorded, or
    more that are made of its elements.
    """
    if record.rows is not None:
        told = _decoded(record.rows, "<f4", (rows, ROW_NUMBERS))
        return None if told is None else told.astype(np.float64)
    file = _file_of(record, dump)
    size = prod(record.shape or ())
    if file is None or not size:
        return None
    try:
        with open_tensor(file) as data:
            if data.size != size:
                return None
            width = size // rows
            step = max(1, _BLOCK // width)
            blocks = [
                _numbers(data.block(start * width, min(start + step, rows) * width), width)
                for start in range(0, rows, step)
            ]
    except TensorFileError:
        return None
    return np.concatenate(blocks)


def _file_of(record: Record, dump: Dump) -> str | None:
    if record.data_name is None:
        return None
    place = dump.tensor_finder()(record.data_name)
    return place if isinstance(place, str) else None


def _decoded(text: str, kind: str, shape: tuple[int, ...]) -> NDArray[Any] | None:
    try:
        numbers = np.frombuffer(base64.b64decode(text, validate=True), dtype=kind)
    except (binascii.Error, ValueError):
        return None
    return numbers.reshape(shape) if numbers.size == prod(shape) else None


def _numbers(block: NDArray[Any], width: int) -> Floats:
    table = block.reshape(-1, width).astype(np.float64)
    with np.errstate(all="ignore"):
        told = [
            table.max(axis=1),
            table.min(axis=1),
            table.mean(axis=1),
            np.sqrt((table * table).sum(axis=1)),
        ]
        return np.column_stack((*told, table @ _signs(width).T))


@lru_cache(maxsize=64)
def _signs(width: int) -> Floats:
    """±1 for each projection and column, as docs/formats.md defines them."""
    return signs(0, width, _MEASURED)


def signs(first: int, count: int, projections: int) -> Floats:
    """±1 for projections and some places: bit k of the place's hash decides for k."""
    h = np.arange(first, first + count, dtype=np.uint64)
    mask = np.uint64(0xFFFF_FFFF)
    h = (h ^ (h >> np.uint64(16))) * np.uint64(0x85EB_CA6B) & mask
    h = (h ^ (h >> np.uint64(13))) * np.uint64(0xC2B2_AE35) & mask
    h = h ^ (h >> np.uint64(16))
    bits = h[None] >> np.arange(projections, dtype=np.uint64)[:, None] & np.uint64(1)
    return np.asarray(1.0 - 2.0 * bits.astype(np.float64))
