"""What two values may differ in besides their numbers: presence, type, dtype, shape, argument."""

from __future__ import annotations

from math import isnan
from sys import float_info

import numpy as np

from builder.compare.mask_constants import mask_alike
from builder.dump.statistic_cells import number_of
from builder.dump.values import Record
from msprobe_core.format import canonical_dtype, is_integer_dtype
from msprobe_core.format.frameworks import DTYPE_TYPES

# 0.1 + 0.2 is 0.3 to whoever wrote either: a few units in the last of a float64's 16 digits.
_DIGITS = 1e-12
NOTHING = Record()  # stands for a value that one side does not have


def has_own_error(p: Record, b: Record) -> bool:
    """Whether the error follows from the forms alone: arguments, surplus values, other shapes."""
    return p.dtype is None or b.dtype is None or p.shape != b.shape


def own_error(p: Record, b: Record) -> float:
    """The relative error that follows so; NaN where one side has no value."""
    if p.dtype is None or b.dtype is None:
        return np.nan if p is NOTHING or b is NOTHING else argument_error(p, b)
    return np.inf


def argument_error(ours: Record, theirs: Record) -> float:
    """0 where two non-tensor arguments mean the same, infinite where they differ.

    Process groups compare by their ranks: group ids are drawn anew in every run.
    """
    if ours.group_ranks is not None and theirs.group_ranks is not None:
        return 0.0 if ours.group_ranks == theirs.group_ranks else np.inf
    if (ours.dtype is None) != (theirs.dtype is None):
        return np.inf
    if {ours.type, theirs.type} <= DTYPE_TYPES:
        same = canonical_dtype(str(ours.value)) == canonical_dtype(str(theirs.value))
        return 0.0 if same else np.inf
    if ours.type != theirs.type and "str" in (ours.type, theirs.type):
        return np.inf  # the text "inf" is no number
    return 0.0 if _mean_the_same(_meaning(ours), _meaning(theirs)) else np.inf


def are_written_otherwise(ours: Record, theirs: Record) -> bool:
    """Whether two numbers that may mean the same are not: masks of two sizes."""
    if ours is NOTHING or theirs is NOTHING or ours.dtype is not None or theirs.dtype is not None:
        return False
    one, other = _meaning(ours), _meaning(theirs)
    numbers = isinstance(one, int | float) and isinstance(other, int | float)
    return numbers and one != other and (one == one or other == other)  # noqa: PLR0124 - NaN


def _meaning(record: Record) -> object:
    """The value of an argument: NaN and infinity of a float come as text."""
    if isinstance(record.value, str) and record.type == "float":
        number = number_of(record.value)
        return record.value if isnan(number) and record.value.lower() != "nan" else number
    return record.value


def _mean_the_same(ours: object, theirs: object) -> bool:
    """Whether two values do, however they nest: sizes, slices, groups."""
    if isinstance(ours, list) and isinstance(theirs, list):
        return len(ours) == len(theirs) and all(map(_mean_the_same, ours, theirs))
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return ours.keys() == theirs.keys() and all(
            _mean_the_same(value, theirs[key]) for key, value in ours.items()
        )
    # x[True] is another element than x[1].
    if isinstance(ours, bool) or isinstance(theirs, bool):
        return ours is theirs
    if isinstance(ours, int | float) and isinstance(theirs, int | float):
        return _numbers_agree(ours, theirs)
    return ours == theirs


def _numbers_agree(ours: float, theirs: float) -> bool:
    """Whether two numbers are equal, but for how their last digits were written.

    Infinity is near to nothing, so that it agrees with itself and, as a mask, with other masks.
    """
    if ours == theirs or (ours != ours and theirs != theirs):  # noqa: PLR0124 - NaN
        return True
    if isinstance(ours, int) and isinstance(theirs, int):
        return False
    finite = max(abs(ours), abs(theirs)) <= float_info.max
    return (finite and abs(ours - theirs) <= _DIGITS * abs(theirs)) or mask_alike(ours, theirs)


def _are_integers(*dtypes: str) -> bool:
    return all(is_integer_dtype(name) and canonical_dtype(name) != "bool" for name in dtypes)


def differing_attributes(p: Record, b: Record, across_frameworks: bool = False) -> list[str]:
    """Which of type, dtype, shape, requires_grad and value differ between two values.

    Across frameworks integers of another width are the same: some make all ids and labels int32.
    """
    if p.dtype is None or b.dtype is None:
        return ["value"] if argument_error(p, b) else []
    differing = []
    is_width = across_frameworks and _are_integers(p.dtype, b.dtype)
    if p.dtype != b.dtype and canonical_dtype(p.dtype) != canonical_dtype(b.dtype) and not is_width:
        differing.append("dtype")
    if p.shape != b.shape:
        differing.append("shape")
    if p.requires_grad != b.requires_grad and None not in (p.requires_grad, b.requires_grad):
        differing.append("requires_grad")
    return differing
