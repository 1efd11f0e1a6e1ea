"""The values of a module as one over all tokens that both runs computed, forward passes joined."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

import msgspec
import numpy as np
from numpy.typing import NDArray

from builder.dump.values import Record
from builder.match.sequences.forwards import Pass
from builder.match.sequences.row_numbers import Floats, row_numbers_of, signs
from builder.match.sequences.token_alignment import Integers
from msprobe_core.format import PROJECTIONS, ROW_NUMBERS, ROW_PROJECTIONS, is_integer_dtype

_MAX, _MIN, _MEAN, _NORM = range(4)
Bools = NDArray[np.bool_]
_MOVED = 0.1


@dataclass(frozen=True, slots=True)
class AlignedValue:
    """One value of a module: the numbers of each token, and which of them are there.

    `numbers` is tokens × (4 statistics and the projections of a row). `keys` names it in a call:
    two where it is the sum of what a program keeps apart, as a residual beside what is to be added
    to it. `first` is its record in the first forward pass.
    """

    keys: tuple[str, ...]
    first: Record
    width: int
    numbers: Floats
    known: Bools


@dataclass(frozen=True, slots=True)
class RunOfTokens:
    """One run: its forward passes, and the row (forward pass, row) of each aligned token.

    `ends` are the last rows of each request in each pass; empty where they are not told.
    """

    passes: Sequence[Pass]
    rows: Integers
    ends: Sequence[tuple[int, ...]]


def values_of(run: RunOfTokens, path: str, role: str) -> Iterator[AlignedValue]:
    """The values that a module read or put out (`role`) with a row for each token."""
    for key in _keys(run.passes, path, role):
        made = _aligned(run, path, key)
        if made is not None:
            yield made


def _keys(passes: Sequence[Pass], path: str, role: str) -> list[str]:
    """Keys of tensors of numbers, in the order of the calls that have them."""
    found: dict[str, None] = {}
    for each in passes:
        node, values = each.calls.get(path), each.tree.dump.values
        for index in range(*node.values) if node is not None else ():
            dtype, key = values.records[index].dtype, values.keys[index]
            if dtype is not None and not is_integer_dtype(dtype) and key.startswith(role):
                found.setdefault(key)
    return list(found)


def _aligned(run: RunOfTokens, path: str, key: str) -> AlignedValue | None:
    first: Record | None = None
    width = 0
    numbers = np.full((len(run.rows), 0), np.nan)
    known = np.zeros(len(run.rows), dtype=bool)
    for number, each in enumerate(run.passes):
        record = each.value(path, key)
        if record is None or record.dtype is None:
            return None
        ends = run.ends[number] if run.ends else ()
        told = _rows_of(record, each, ends, path)
        if told is None:
            return None
        table, places, own = told
        if first is None:
            first, width = record, own
            numbers = np.full((len(run.rows), table.shape[1]), np.nan)
        if own != width or table.shape[1] != numbers.shape[1]:
            return None
        mine = np.flatnonzero(run.rows[:, 0] == number)
        where = places[run.rows[mine, 1]]
        there = where >= 0
        numbers[mine[there]] = table[where[there]]
        known[mine[there]] = True
    if first is None or not known.any():
        return None
    return AlignedValue((key,), first, width, numbers, known)


def _rows_of(
    record: Record, each: Pass, ends: Sequence[int], path: str
) -> tuple[Floats, Integers, int] | None:
    """The numbers of the rows of a value, the place of each token among them (-1: none), width."""
    shape, count = record.shape or (), each.rows
    leading = _leading(shape, count)
    if leading is not None:
        places, rows = np.arange(count), count
        if has_sequence_first(shape, each, path):
            batch, length = each.batch[-2:]
            places = (places % length) * batch + places // length
    elif ends and (leading := _leading(shape, len(ends))) is not None:
        places = np.full(count, -1)
        places[list(ends)] = np.arange(len(ends))
        rows = len(ends)
    else:
        return None
    numbers = row_numbers_of(record, each.tree.dump, rows)
    if numbers is None:
        return None
    return numbers, places, prod(shape[leading:])


def _leading(shape: tuple[int, ...], count: int) -> int | None:
    """How many dimensions in front make up so many rows, with some behind them."""
    for stop in range(1, len(shape)):
        if prod(shape[:stop]) == count:
            return stop
    return None


def has_sequence_first(shape: tuple[int, ...], each: Pass, path: str) -> bool:
    """Whether a value of a module has the sequence in front of the batch.

    Where all tokens are in one dimension, as before experts, what the module or the nearest around
    it has in two dimensions tells how they were laid out.
    """
    if len(each.batch) < 2 or 1 in each.batch[-2:]:
        return False
    while path and _leading(shape, each.rows) == 1:
        shapes = _shapes(each, path)
        shape = next((s for s in shapes if (_leading(s, each.rows) or 0) > 1), shape)
        path = path.rpartition(".")[0]
    turned = each.batch[-2:][::-1]
    return len(shape) > 2 and shape[:2] == turned != each.batch[-2:]


def _shapes(each: Pass, path: str) -> Iterator[tuple[int, ...]]:
    """The shapes of what a module reads and puts out."""
    node, values = each.calls.get(path), each.tree.dump.values
    for index in range(*node.values) if node is not None else ():
        if values.keys[index].startswith(("input", "output")):
            yield values.records[index].shape or ()


# --- two values as one ----------------------------------------------------------------------------


def sum_of(one: AlignedValue, other: AlignedValue) -> AlignedValue:
    """What two values are together: of their sum only what is linear in them is known."""
    numbers = one.numbers + other.numbers
    numbers[:, [_MAX, _MIN]] = np.nan
    numbers[:, _NORM] = np.sqrt(np.mean(numbers[:, 4:] ** 2, axis=1))
    keys, known = (*one.keys, *other.keys), one.known & other.known
    return AlignedValue(keys, one.first, one.width, numbers, known)


def apart(one: AlignedValue, other: AlignedValue) -> Floats:
    """How far apart each token's rows are (NaN: one side has none), in units of the rows' norm.

    The unit is the root mean square over all tokens of the other's norms, so that a token of small
    numbers has no error of its own.
    """
    both = one.known & other.known
    with np.errstate(all="ignore"):
        known = min(one.numbers.shape[1], other.numbers.shape[1])
        difference = one.numbers[:, 4:known] - other.numbers[:, 4:known]
        distance = np.sqrt(np.mean(difference**2, axis=1))
        norms = other.numbers[both, _NORM]
        unit = np.sqrt(np.mean(norms**2)) if both.any() else np.nan
        share = np.where(distance == 0, 0.0, distance / unit)
    return np.where(both, share, np.nan)


def apart_in_any_order(one: AlignedValue, other: AlignedValue) -> Floats:
    """The same by what does not depend on the order of a row's elements; infinite for sums."""
    both = one.known & other.known
    with np.errstate(all="ignore"):
        differ = np.abs(one.numbers[:, :4] - other.numbers[:, :4])
        unit = np.sqrt(np.mean(other.numbers[both, _NORM] ** 2)) if both.any() else np.nan
        peak = np.abs(other.numbers[both][:, [_MAX, _MIN]]).max() if both.any() else np.nan
        differ[:, _MEAN] *= np.sqrt(one.width)
        shares = differ / np.array([peak, peak, unit, unit])
        share = np.where(np.isnan(shares).any(axis=1), np.inf, shares.max(axis=1))
    return np.where(both, share, np.nan)


def have_moved(one: AlignedValue, other: AlignedValue) -> bool:
    """Whether the elements of rows stand in another order, as in a projection fused otherwise.

    Moved at random, elements are √2 apart, and what does not depend on their order agrees but for
    rounding: of bfloat16 behind many layers less than a tenth. Of other elements the mean alone
    is as far apart as they are.
    """
    in_order = _root_mean_square(apart(one, other))
    in_any_order = _root_mean_square(apart_in_any_order(one, other))
    return in_order > _MOVED and in_any_order < _MOVED * in_order


def _root_mean_square(shares: Floats) -> float:
    known = shares[~np.isnan(shares)]
    return float(np.sqrt(np.mean(known**2))) if known.size else 0.0


def record_of(value: AlignedValue, known: Bools, *, in_order: bool) -> Record:
    """The record of a value over the tokens that are `known` on both sides, as of one tensor.

    It has a sketch where elements of both sides stand `in_order`.
    """
    numbers = value.numbers[known]
    with np.errstate(all="ignore"):
        cells = {
            "Max": float(numbers[:, _MAX].max()),
            "Min": float(numbers[:, _MIN].min()),
            "Mean": float(numbers[:, _MEAN].mean()),
            "Norm": float(np.sqrt((numbers[:, _NORM] ** 2).sum())),
        }
    if len(value.keys) > 1:  # of a sum nothing tells these
        cells["Max"] = cells["Min"] = cells["Norm"] = None  # type: ignore[assignment]  # numbers that are unknown
    return msgspec.structs.replace(
        value.first,
        shape=(len(numbers), value.width),
        md5=None,
        data_name=None,
        rows=None,
        sketch=_sketch(numbers[:, 4:ROW_NUMBERS]) if in_order else None,
        **cells,
    )


def _sketch(projections: Floats) -> str | None:
    """The sketch of all rows together: each with a sign of its own, as in any sketch."""
    repeated = np.tile(projections, (1, PROJECTIONS // ROW_PROJECTIONS))
    with np.errstate(all="ignore"):
        sketch = (signs(1 << 20, len(repeated), PROJECTIONS).T * repeated).sum(axis=0)
    return sketch.astype("<f4").tobytes().hex() if np.isfinite(sketch).all() else None
