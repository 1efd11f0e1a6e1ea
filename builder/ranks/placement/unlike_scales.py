"""Copies that ranks multiply by numbers of their own: a count, a norm or a rate of one rank's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import isfinite

from builder.dump.statistic_cells import number_of
from builder.dump.values import Record
from builder.ranks.assembly.alignment import parse
from builder.ranks.joining.layouts import AXIS_NAMES
from builder.ranks.joining.parts import RunValues
from builder.ranks.placement.copies import are_copies, is_constant
from builder.ranks.placement.mixtures import groups_along

_SCALES = frozenset("__mul__ __rmul__ mul mul_ __imul__ __truediv__ div div_ __itruediv__".split())
# Ranks that add up the same elements in unlike orders, in single precision.
_SAME = 1e-5


@dataclass(frozen=True, slots=True)
class UnlikeScale:
    """The first call that scales copies along an axis by unlike numbers, by rank."""

    call: str
    axis: str
    numbers: Mapping[int, float]


def unlike_scales(values: RunValues) -> Iterator[UnlikeScale]:
    """Behind the backward pass, the first such call along each axis.

    Of a copy R and numbers c_r that differ, c_r·R is no copy; nothing behind a backward pass makes
    it one again but a sum, which would have to be of parts. In a forward pass a rank may be meant
    to keep a copy alone, by a factor of zero for the others, and a sum follows.
    """
    axes = [axis for axis in AXIS_NAMES if axis != "pp" and values.run.layout.size(axis) > 1]
    is_behind = False
    for owner, place in values.run.dump.ranges.items() if axes else ():
        entry = parse(owner)
        if entry is not None and entry.direction == "backward":
            is_behind = True
        if not is_behind or entry is None or entry.type_name not in _SCALES:
            continue
        if entry.kind != "api" or entry.direction != "forward":
            continue
        for axis in list(axes):
            numbers = _unlike(values, place, axis)
            if numbers:
                axes.remove(axis)
                yield UnlikeScale(owner, axis, numbers)


def _unlike(values: RunValues, place: tuple[int, int], axis: str) -> Mapping[int, float]:
    """The numbers by rank of a group along an axis that holds copies and scales them apart."""
    at = {values.keys[index]: index for index in range(*place)}
    scaled, scale = at.get("input.0"), at.get("input.1", at.get("input.other"))
    if scaled is None or scale is None:
        return {}
    groups = groups_along(values, scaled, axis)
    for rest, by_number in groups_along(values, scale, axis).items():
        copies = list(groups.get(rest, {}).values())
        numbers = {rank: _number(record) for rank, record in by_number.items()}
        if len(copies) < 2 or None in numbers.values() or not _are_told(copies):
            continue
        known = {rank: number for rank, number in numbers.items() if number is not None}
        if _are_apart(known):
            return known
    return {}


def _are_told(copies: list[Record]) -> bool:
    """Whether ranks hold one tensor, of more than one number."""
    is_tensor = all(one.dtype is not None and one.Norm is not None for one in copies)
    return is_tensor and not is_constant(copies[0]) and are_copies(copies)


def _number(record: Record) -> float | None:
    """A plain number, or that in a tensor of one element."""
    if record.dtype is not None:
        is_one = all(extent == 1 for extent in record.shape or ())
        number = number_of(record.Max) if is_one else None
    else:
        number = float(record.value) if isinstance(record.value, (int, float)) else None
    return number if number is not None and isfinite(number) else None


def _are_apart(numbers: Mapping[int, float]) -> bool:
    largest = max(map(abs, numbers.values()))
    return max(numbers.values()) - min(numbers.values()) > _SAME * largest
