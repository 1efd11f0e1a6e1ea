"""What a call read, as the operands of the bounds in `sensitivity`."""

from __future__ import annotations

from collections.abc import Iterable
from math import isfinite

import numpy as np

from builder.compare.comparison import Comparison
from builder.compare.mask_constants import hold_masks
from builder.compare.statistics import Floats
from builder.diagnosis.sensitivity import Operand
from builder.dump.values import Record

_FACTORS = ("alpha", "beta", "value")  # numbers by which a call multiplies what it reads


def operands_of(
    comparison: Comparison, rows: Iterable[int]
) -> tuple[list[Operand], dict[str, float]]:
    """The operands of a call in order, and its factors by name, from the rows of what it read.

    Neither where one of them cannot be told: it is on one side alone, or masks and infinities
    hide how large the rest of it is.
    """
    operands: list[Operand] = []
    factors: dict[str, float] = {}
    for row in rows:
        key = comparison.keys[row].removeprefix("input.")
        is_tensor = comparison.records[0][row].dtype is not None
        if not is_tensor and key not in (*_FACTORS, "other") and not key.isdigit():
            continue  # how a call computes, not with what
        operand = _tensor(comparison, row) if is_tensor else _number(comparison, row)
        if operand is None:
            return [], {}
        if key in _FACTORS:
            factors[key] = operand.largest
        else:
            operands.append(operand)
    return operands, factors


def _tensor(comparison: Comparison, row: int) -> Operand | None:
    ours, theirs = (side.table[:, row] for side in comparison.statistics)
    extremes = np.abs(np.array([*ours[:2], *theirs[:2]]))
    mean, norm = (float(max(abs(ours[at]), abs(theirs[at]))) for at in (2, 3))
    distance, largest = float(comparison.distance[row]), float(extremes.max())
    shape, known = comparison.records[1][row].shape, isfinite(norm + mean + largest + distance)
    if shape is None or not known or _has_masks(ours, theirs):
        return None
    return Operand(distance, norm, mean, largest, shape)


def _has_masks(*sides: Floats) -> bool:
    return any(bool(hold_masks(side[:2, np.newaxis]).any()) for side in sides)


def _number(comparison: Comparison, row: int) -> Operand | None:
    ours, theirs = (side[row] for side in comparison.records)
    if not (_is_number(ours) and _is_number(theirs)) or ours.value != theirs.value:
        return None
    magnitude = abs(float(theirs.value))  # type: ignore[arg-type]
    return Operand(0.0, magnitude, magnitude, magnitude, ())


def _is_number(record: Record) -> bool:
    return isinstance(record.value, int | float) and isfinite(record.value)
