"""What the numbers of ranks say of each other: copies, or values that are apart."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite, isnan, prod, sqrt

from builder.dump.statistic_cells import known_or_none, number_of
from builder.dump.values import Record
from builder.ranks.joining.tolerances import Roundings, recorded_rounding


def are_copies(records: Sequence[Record]) -> bool:
    """Whether ranks hold one tensor: shape, format and all numbers that are recorded."""
    first = records[0]
    return all(
        record.shape == first.shape and record.dtype == first.dtype and is_same(record, first)
        for record in records
    )


def are_apart(owner: str, records: Sequence[Record]) -> bool:
    """Whether the values of ranks are unlike each other, as parts of a sum are.

    Copies that each rank computes for itself have elements that round apart by some ε each, which
    moves a norm of n elements by ε/√n of it.
    """
    norms, count = [norm_of(record) for record in records], prod(records[0].shape or (1,))
    rounding = Roundings().of(owner, [records[0].dtype])
    limit = rounding / sqrt(max(count, 1)) + 2 * recorded_rounding(count)
    return max(norms) - min(norms) > limit * max(norms)


def is_constant(record: Record) -> bool:
    """Whether all elements are one number: zeros are whole, a shard and a part of a sum at once."""
    return record.Max is not None and record.Max == record.Min


def norm_of(record: Record) -> float:
    """The norm of a record, 0 where there is none."""
    return known_or_none(number_of(record.Norm)) or 0.0


def is_same(made: Record, wanted: Record) -> bool:
    """Whether two tensors have the same numbers; what a side does not record says nothing."""
    ours = (made.Max, made.Min, made.Mean, made.Norm)
    theirs = (wanted.Max, wanted.Min, wanted.Mean, wanted.Norm)
    count, norm = max(1, prod(made.shape or (1,))), number_of(wanted.Norm)
    scales = (0.0, 0.0, norm / sqrt(count), norm)
    off = 2 * recorded_rounding(count)  # two ranks may add the same elements up in other orders
    return all(
        _are_near(number_of(a), number_of(b), off * scale)
        for a, b, scale in zip(ours, theirs, scales, strict=True)
        if a is not None and b is not None
    )


def _are_near(one: float, other: float, off: float) -> bool:
    """Whether two recorded numbers are; NaN and infinity are near to themselves alone."""
    if not (isfinite(one) and isfinite(other)):
        return one == other or (isnan(one) and isnan(other))
    return one == other or abs(one - other) <= (0.0 if isnan(off) else off)
