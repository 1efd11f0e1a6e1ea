"""What two values may differ in besides their numbers: presence, type, dtype, shape, argument."""

from __future__ import annotations

from math import isnan

import numpy as np

from builder.compare.mask_constants import mask_alike
from builder.dump.statistic_cells import number_of
from builder.dump.values import Record
from msprobe_core.format import canonical_dtype, is_integer_dtype

_DTYPES = frozenset(("torch.dtype", "mindspore.dtype"))
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
    numbers = _float(ours), _float(theirs)
    if numbers[0] is not None and numbers[1] is not None:
        return _float_error(numbers[0], numbers[1])
    if {ours.type, theirs.type} <= _DTYPES:
        same = canonical_dtype(str(ours.value)) == canonical_dtype(str(theirs.value))
        return 0.0 if same else np.inf
    return 0.0 if ours.value == theirs.value else np.inf


def _float(record: Record) -> float | None:
    if isinstance(record.value, str) and record.type == "float":
        return number_of(record.value)  # NaN and infinity come as text
    return record.value if isinstance(record.value, float) else None


def _float_error(ours: float, theirs: float) -> float:
    close = abs(ours - theirs) <= 1e-12 * abs(theirs)
    both_nan = isnan(ours) and isnan(theirs)
    return 0.0 if close or both_nan or mask_alike(ours, theirs) else np.inf


def _are_integers(*dtypes: str) -> bool:
    return all(is_integer_dtype(name) and canonical_dtype(name) != "bool" for name in dtypes)


def differing_attributes(p: Record, b: Record, across_frameworks: bool = False) -> list[str]:
    """Which of type, dtype, shape, requires_grad and value differ between two values.

    Across frameworks integers of another width are the same: MindSpore's ids and labels are int32.
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
