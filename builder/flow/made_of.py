"""What a tensor is made of, told by statistics: joined, cut, repeated, padded, cast or added up.

A joined tensor has the largest peak of its pieces, their sizes, sums and squared norms added up; a
repeated or padded one keeps the peaks of what it was made of. Peaks are compared digit by digit,
for they are elements; sums and norms up to how they are added.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from math import prod, sqrt
from typing import NamedTuple

import numpy as np

from builder.compare.columns import Columns
from builder.dump.forms import Form
from msprobe_core.format import is_integer_dtype

# Sums of float32 are off by some 1e-7 of what is added for each doubling of its count; a hundred
# times that still lets one pair of unrelated norms in ten thousand pass, and peaks rule those out.
_SUMS = 1e-4
# A mean alone has to tell: no more than the rounding of its sum, relative to the elements.
_MEANS = 1e-6
# Of the same elements norms differ by the order of their summing alone.
_TURNED = 1e-6
# bfloat16 keeps eight bits: an element is off by 2⁻⁹ of itself, a norm by no more.
_CAST = 2.0**-8
MOST_PIECES = 64
_MOST_TRIED = 2_000
_NEAR = 24
Shape = tuple[int, ...]


class Tensor(NamedTuple):
    """A tensor as its record tells it; `node` is the execution order of what put it out or read it.

    `at` is the index of its value, `print` its fingerprint's number, which copies and views share.
    """

    at: int
    print: int
    node: int
    shape: Shape
    dtype: str
    high: float
    low: float
    mean: float
    norm: float

    @property
    def counts(self) -> bool:
        """Whether it holds ids, positions or a mask, of which peaks tell nothing."""
        return is_integer_dtype(self.dtype)

    @property
    def size(self) -> int:
        """How many elements it has."""
        return prod(self.shape)


def tensors_at(
    indices: Sequence[int],
    prints: Sequence[int],
    owners: Sequence[int],
    columns: Columns,
    forms: list[Form],
) -> Iterator[Tensor]:
    """The tensors with these value indices of which peaks, mean and norm are finite, or count."""
    table = columns.statistics.table[:, indices].T
    finite = np.isfinite(table).all(axis=1).tolist()
    kinds = columns.forms[indices].tolist()
    for index, known, kind, cells in zip(indices, finite, kinds, table.tolist(), strict=True):
        form = forms[kind]
        if form.shape is not None and (known or form.is_integer):
            yield Tensor(index, prints[index], owners[index], form.shape, form.dtype or "", *cells)


@dataclass(slots=True)
class Available:
    """All that calls have put out, to be asked for what had been by some point of the execution."""

    by_high: dict[float, list[Tensor]]
    by_low: dict[float, list[Tensor]]
    by_shape: dict[Shape, list[Tensor]]
    in_order: list[Tensor]
    dtypes: set[str]

    def add(self, one: Tensor) -> None:
        """Note a tensor; lists stay in the order of execution."""
        self.dtypes.add(one.dtype)
        lists = self.by_high[one.high], self.by_low[one.low], self.by_shape[one.shape]
        for listed in (*lists, self.in_order):
            # Most come in order, and a search for their place costs more than all else here.
            if not listed or listed[-1].node <= one.node:
                listed.append(one)
            else:
                insort(listed, one, key=_node)

    def with_a_peak_of(self, whole: Tensor, begin: int) -> list[Tensor]:
        """What had its largest or smallest element, with either sign.

        The latest first, one of each fingerprint.
        """
        ends = (whole.high, -whole.low), (whole.low, -whole.high)
        lists = [self.by_high.get(end, []) for end in ends[0]]
        lists += [self.by_low.get(end, []) for end in ends[1]]
        found = {t.print: t for listed in lists for t in _latest(listed, begin, _NEAR)}
        return sorted(found.values(), key=_node, reverse=True)

    def near(self, begin: int, count: int) -> list[Tensor]:
        """The latest before a point, one of each fingerprint."""
        return _latest(self.in_order, begin, count)

    def of_shape(self, shape: Shape, begin: int, count: int) -> list[Tensor]:
        """The latest of a shape before a point."""
        return _latest(self.by_shape.get(shape, []), begin, count)


def nothing_yet() -> Available:
    """Before anything has run."""
    return Available(defaultdict(list), defaultdict(list), defaultdict(list), [], set())


def _node(one: Tensor) -> int:
    return one.node


def _latest(listed: list[Tensor], begin: int, count: int) -> list[Tensor]:
    if not listed:
        return []
    stop = bisect_left(listed, begin, key=_node)
    unique: dict[int, Tensor] = {}
    for one in reversed(listed[max(0, stop - 2 * count) : stop]):
        unique.setdefault(one.print, one)
    return list(unique.values())[:count]


def pieces_of(
    whole: Tensor,
    sharing: Sequence[Tensor],
    available: Available,
    begin: int,
    is_had: Callable[[Tensor], bool],
    filling: Sequence[Tensor],
) -> list[Tensor]:
    """The tensors that were joined to this one; empty where numbers tell none.

    `sharing`, here and below: those that have a peak of the whole. What `is_had` where it was made
    comes before what numbers alone tell; `filling` are constants, which may fill what lacks.
    """
    peaks = [one for one in sharing if _fits_into(one, whole)]
    if not peaks:
        return []
    near = [one for one in available.near(begin, 4 * _NEAR) if _fits_into(one, whole)]
    fitting = [one for one in filling if _fits_into(one, whole)]
    listed = list({one.print: one for one in (*peaks, *near, *fitting)}.values())
    same = {one.shape: available.of_shape(one.shape, begin, 2 * MOST_PIECES)[::-1] for one in peaks}
    every = {one.print: one for one in (*listed, *chain(*same.values()))}
    had = {number for number, one in every.items() if is_had(one)}
    inside = {shape: [one for one in ones if one.print in had] for shape, ones in same.items()}
    found = _joined(whole, [one for one in listed if one.print in had], inside)
    return found if found or len(had) == len(every) else _joined(whole, listed, same)


def _joined(
    whole: Tensor, listed: Sequence[Tensor], same: dict[Shape, list[Tensor]]
) -> list[Tensor]:
    """Pieces among those that are listed, or among many of one shape, which stand in order."""
    runs = (run for alike in same.values() for run in _equal_runs(whole, alike))
    equal = next((run for run in runs if _add_up(whole, run)), None)
    return equal or next(_subsets(whole, listed), [])


def _equal_runs(whole: Tensor, same: list[Tensor]) -> Iterator[list[Tensor]]:
    """As many of one shape as make the whole, that ran one after the other: heads, branches."""
    count, rest = divmod(whole.size, max(1, same[0].size)) if same else (0, 0)
    if rest or not 2 <= count <= MOST_PIECES:
        return
    for start in range(len(same) - count, -1, -1):
        yield same[start : start + count]


def _subsets(whole: Tensor, listed: Sequence[Tensor]) -> Iterator[list[Tensor]]:
    """Some of these that add up; few are tried."""
    tried = 0
    pending: list[tuple[list[Tensor], int, int, float]] = [([], 0, whole.size, whole.norm**2)]
    while pending and tried < _MOST_TRIED:
        chosen, first, size, square = pending.pop()
        tried += 1
        for place in range(len(listed) - 1, first - 1, -1):
            one = listed[place]
            if one.size > size or one.norm**2 > square + _SUMS * whole.norm**2:
                continue
            if one.size == size:
                if _add_up(whole, [*chosen, one]):
                    yield [*chosen, one]
            elif len(chosen) < 7:
                left = square - one.norm**2
                pending.append(([*chosen, one], place + 1, size - one.size, left))


def _fits_into(piece: Tensor, whole: Tensor) -> bool:
    """Whether a piece has the shape to be joined to the whole, and no element beyond its peaks."""
    if not (piece.low >= whole.low and piece.high <= whole.high):
        return False
    if len(piece.shape) == len(whole.shape):
        differ = [p < w for p, w in zip(piece.shape, whole.shape, strict=True) if p != w]
        return differ == [True]
    return len(piece.shape) + 1 == len(whole.shape) and any(
        whole.shape[:at] + whole.shape[at + 1 :] == piece.shape for at in range(len(whole.shape))
    )


def _add_up(whole: Tensor, pieces: Sequence[Tensor]) -> bool:
    return len(pieces) > 1 and adds_up(whole, pieces, 1)


def adds_up(whole: Tensor, pieces: Sequence[Tensor], times: int) -> bool:
    """Whether pieces hold all elements of the whole, each so many times."""
    if sum(piece.size for piece in pieces) != times * whole.size:
        return False
    if max(p.high for p in pieces) != whole.high or min(p.low for p in pieces) != whole.low:
        return False
    square, total = times * whole.norm**2, times * whole.size * whole.mean
    # By Cauchy and Schwarz no sum of elements is larger than this.
    largest = sqrt(times * whole.size * square)
    return (
        abs(sum(piece.norm**2 for piece in pieces) - square) <= _SUMS * square
        and abs(sum(piece.size * piece.mean for piece in pieces) - total) <= _SUMS * largest
    )


def repeated_from(whole: Tensor, sharing: Sequence[Tensor]) -> Tensor | None:
    """What was repeated so many times, or padded with zeros, to make this one."""
    for one in sharing:
        count, rest = divmod(whole.size, max(1, one.size))
        if count < 1 or one.size >= whole.size:
            continue
        if not rest and adds_up(whole, [one] * count, 1):
            return one
        sums = abs(one.size * one.mean - whole.size * whole.mean)
        padded = (max(one.high, 0.0), min(one.low, 0.0)) == (whole.high, whole.low)
        if padded and _close(one.norm, whole.norm) and sums <= _SUMS * sqrt(one.size) * one.norm:
            return one
    return None


def cast_from(whole: Tensor, available: Available, begin: int) -> Tensor | None:
    """The latest of its shape and another dtype whose elements round to it."""
    if available.dtypes == {whole.dtype}:
        return None
    for one in available.of_shape(whole.shape, begin, _NEAR):
        peak = max(abs(one.high), abs(one.low))
        if one.dtype == whole.dtype or one.norm == 0:
            continue
        near = (abs(whole.high - one.high), abs(whole.low - one.low))
        if max(near) <= _CAST * peak and abs(whole.norm - one.norm) <= _CAST * one.norm:
            return one
    return None


def turned_from(whole: Tensor, sharing: Sequence[Tensor]) -> Tensor | None:
    """What has its elements in another order, some with the other sign, as rotary halves are."""
    peak = max(abs(whole.high), abs(whole.low))
    for one in sharing:
        same = one.size == whole.size and max(abs(one.high), abs(one.low)) == peak
        if same and one.print != whole.print and abs(one.norm - whole.norm) <= _TURNED * one.norm:
            return one
    return None


def holds(whole: Tensor, part: Tensor) -> bool:
    """Whether a tensor is large enough to be cut from another."""
    return (
        part.size < whole.size
        and whole.low <= part.low
        and part.high <= whole.high
        and part.norm <= whole.norm * (1 + _SUMS)
    )


def tells(whole: Tensor, part: Tensor) -> bool:
    """Whether a peak of the part is the whole's, and no number that many tensors have."""
    high, low = part.high == whole.high, part.low == whole.low
    return (high and abs(part.high) not in (0.0, 1.0)) or (low and abs(part.low) not in (0.0, 1.0))


def is_cut_along_one(part: Shape, whole: Shape) -> bool:
    """Whether one dimension of the whole was cut, or dropped."""
    if len(part) == len(whole):
        return [p < w for p, w in zip(part, whole, strict=True) if p != w] == [True]
    return len(part) + 1 == len(whole) and any(
        whole[:at] + whole[at + 1 :] == part for at in range(len(whole))
    )


def terms_of(
    total: Tensor, available: Available, begin: int, columns: Columns
) -> tuple[Tensor, Tensor] | None:
    """Two tensors of its shape that add up to it; None where none do, or more than one pair."""
    near = available.of_shape(total.shape, begin, _NEAR)
    if len(near) < 2:
        return None
    sketches = columns.take_sketches(np.array([total.at, *(t.at for t in near)]))
    found = _by_sketch(sketches, near) if np.isfinite(sketches).all() else _by_mean(total, near)
    return found[0] if len(found) == 1 else None


def _by_sketch(sketches: np.ndarray, near: list[Tensor]) -> list[tuple[Tensor, Tensor]]:
    """Sketches are linear, and eight projections that agree are no chance."""
    whole, each = sketches[0], sketches[1:]
    apart = np.sqrt(np.mean((each[:, None] + each[None] - whole) ** 2, axis=2))
    good = np.argwhere(np.triu(apart <= _CAST * np.sqrt(np.mean(whole**2)), 1))
    return [(near[one], near[other]) for one, other in good.tolist()]


def _by_mean(total: Tensor, near: list[Tensor]) -> list[tuple[Tensor, Tensor]]:
    return [
        (one, other)
        for place, one in enumerate(near)
        for other in near[place + 1 :]
        if abs(one.norm - other.norm) <= total.norm * (1 + _SUMS)
        and total.norm <= (one.norm + other.norm) * (1 + _SUMS)
        and one.low + other.low <= total.high
        and total.high <= one.high + other.high
        and abs(one.mean + other.mean - total.mean)
        <= _MEANS * (one.norm + other.norm) / sqrt(total.size)
    ]


def _close(one: float, other: float) -> bool:
    return abs(one - other) <= _SUMS * max(abs(one), abs(other))
