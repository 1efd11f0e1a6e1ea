"""Eight random projections of a tensor's elements, as text beside its statistics.

The difference of two sketches estimates how far apart two tensors are that nobody stored.
"""

from __future__ import annotations

from functools import lru_cache
from operator import add

import torch

from msprobe_core.format import LARGEST, PROJECTIONS
from msprobe_core.torch.measure.storages import storage_size
from msprobe_core.torch.measure.tensor_kernels import read_once

# A sign per row is shared by a block of columns and another per column is drawn for each
# projection: that takes one pass over the elements instead of eight. 127 is prime: a column of a
# user's matrix, which is as wide as a power of two, is spread over many columns here.
_BLOCKS, _BLOCK = 8, 127
_COLUMNS = _BLOCKS * _BLOCK
_CHUNK = 320  # rows that are summed in the precision of the elements: more would add rounding
MOST_REPEATED = 2**27
"""Elements up to which a tensor that repeats what its memory holds is sketched: a sketch takes time
for each element that it stands for (some 0.1 s here), the other numbers for those in memory.
"""
_HALF = (torch.float16, torch.bfloat16, torch.complex32)


def sketch(
    tensor: torch.Tensor,
    extreme: float,
    double: bool = False,
    summed_in: torch.dtype = torch.float64,
) -> torch.Tensor:
    """The projections of a strided tensor of any shape and dtype, on its device; gradients off.

    `summed_in` is the format in which the columns are added up.

    `extreme` is the largest magnitude of its elements, infinite where that is not known; sums are
    taken in float32, with `double` and for integers in float64. The signs stand in
    docs/formats.md: they never change within a version.
    """
    first, *others = _sums(tensor, extreme, double, summed_in)
    return sum(others, start=first)


def sketch_now(tensor: torch.Tensor, extreme: float, double: bool = False) -> list[float]:
    """The projections of a tensor on the CPU as numbers: those of `sketch`, but for rounding."""
    limit = zero_from(tensor.dtype)
    if not double and limit is not None and extreme < limit:
        read = read_once(tensor.reshape(-1), sketched=True)
        if read is not None:
            return read.projections
    # Eight numbers are added faster in Python than by torch, which widens the last row first.
    first, *others = (part.tolist() for part in _sums(tensor, extreme, double))
    for part in others:
        first = list(map(add, first, part))
    return first


def _sums(
    tensor: torch.Tensor, extreme: float, double: bool, summed_in: torch.dtype = torch.float64
) -> list[torch.Tensor]:
    """The projections of each part of the elements: chunks of whole rows, then the last row."""
    flat = _as_floats(tensor, double)
    if summed_in is torch.float32:
        flat = flat.to(torch.float32)
    limit = zero_from(tensor.dtype)
    if limit is not None and not extreme < limit:
        flat = torch.where(flat.abs() < limit, flat, 0.0)
    size, kind = flat.numel(), (flat.dtype, flat.device)
    if size <= _COLUMNS:
        return [torch.mv(_last_row(0, size, *kind), flat)]
    rows, rest = divmod(size, _COLUMNS)
    starts = range(0, rows, _CHUNK)
    sums = [_project(flat, start, min(rows - start, _CHUNK), summed_in) for start in starts]
    if rest:
        sums.append(torch.mv(_last_row(rows, rest, *kind), flat[-rest:]))
    return sums


def _project(flat: torch.Tensor, start: int, count: int, summed_in: torch.dtype) -> torch.Tensor:
    """The projections of `count` whole rows from row `start` on."""
    signs = _row_signs(start, count, flat.dtype, flat.device)
    if flat.stride(0) != 1:  # every second element, or one that stands for all
        flat = flat[start * _COLUMNS : (start + count) * _COLUMNS].contiguous()
        start = 0
    # One view instead of three: a step has thousands of tensors, most of them small.
    place = flat.storage_offset() + start * _COLUMNS
    table = flat.as_strided((_BLOCKS, count, _BLOCK), (_BLOCK, _COLUMNS, 1), place)
    folded = torch.bmm(signs, table).view(-1)
    return torch.mv(_columns(summed_in, flat.device), folded.to(summed_in))


def repeats_too_much(tensor: torch.Tensor) -> bool:
    """Whether a tensor shows so many more elements than lie in memory that it has no sketch."""
    size = tensor.numel()
    if size <= MOST_REPEATED:
        return False
    return size * tensor.element_size() > storage_size(tensor)


def zero_from(dtype: torch.dtype) -> float | None:
    """From which magnitude on elements count as zero; None for integers, which hold no masks."""
    if not (dtype.is_floating_point or dtype.is_complex):
        return None
    return _floating_limit(dtype)


@lru_cache
def _floating_limit(dtype: torch.dtype) -> float:
    return min(LARGEST, torch.finfo(dtype).max)


def _as_floats(tensor: torch.Tensor, double: bool) -> torch.Tensor:
    """The elements in C order; real and imaginary parts of a complex number follow each other."""
    dtype = tensor.dtype
    if dtype is torch.float32 and not double:
        return tensor.reshape(-1)
    if dtype.is_complex:
        wide = tensor.to(torch.complex64) if dtype in _HALF else tensor
        tensor = torch.view_as_real(wide.resolve_conj())
    narrow = dtype in _HALF or dtype.itemsize == 1
    floating = dtype.is_floating_point or dtype.is_complex
    if double or not floating or tensor.dtype is torch.float64:
        return tensor.reshape(-1).to(torch.float64)
    return tensor.reshape(-1).to(torch.float32) if narrow else tensor.reshape(-1)


@lru_cache(maxsize=64)
def column_signs(count: int, device: torch.device) -> torch.Tensor:
    """The signs of so many places in a row: projections × places, float32."""
    return _signs(0, count).to(device, torch.float32)


@lru_cache(maxsize=512)
def _last_row(row: int, size: int, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    """The signs of a row that has `size` elements: projections × columns."""
    signs = _signs(_COLUMNS + row, 1).repeat_interleave(_BLOCK)
    return (_signs(0, _COLUMNS) * signs)[:, :size].to(device, dtype).contiguous()


@lru_cache(maxsize=256)
def _row_signs(first: int, count: int, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    return _signs(_COLUMNS + first, count)[:, None].to(device, dtype)


@lru_cache
def _columns(dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    return _signs(0, _COLUMNS).to(device, dtype)


def _signs(first: int, count: int) -> torch.Tensor:
    """±1 for each projection and place: bit k of the place's hash decides for projection k."""
    places = torch.arange(first, first + count, device="cpu")
    bits = _hash(places)[None] >> torch.arange(PROJECTIONS, device="cpu")[:, None] & 1
    return 1 - 2 * bits


def _hash(places: torch.Tensor) -> torch.Tensor:
    """The finaliser of MurmurHash3 (32 bits), of integers from 0 to 2³² − 1."""
    h, mask = places.to(torch.int64), 0xFFFF_FFFF
    h = (h ^ (h >> 16)) * 0x85EB_CA6B & mask
    h = (h ^ (h >> 13)) * 0xC2B2_AE35 & mask
    return h ^ (h >> 16)
