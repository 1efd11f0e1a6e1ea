"""What two values may differ in besides their numbers: presence, type, dtype, shape, argument."""

from __future__ import annotations

import numpy as np

from builder.dump.values import Record
from msprobe_core.format import canonical_dtype

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
    if isinstance(ours.value, float) and isinstance(theirs.value, float):
        close = abs(ours.value - theirs.value) <= 1e-12 * abs(theirs.value)
        both_nan = ours.value != ours.value and theirs.value != theirs.value
        return 0.0 if close or both_nan else np.inf
    if ours.type == theirs.type == "torch.dtype":
        same = canonical_dtype(str(ours.value)) == canonical_dtype(str(theirs.value))
        return 0.0 if same else np.inf
    return 0.0 if ours.value == theirs.value else np.inf


def differing_attributes(p: Record, b: Record) -> list[str]:
    """Which of type, dtype, shape, requires_grad and value differ between two values."""
    if p.dtype is None or b.dtype is None:
        return ["value"] if argument_error(p, b) else []
    found = []
    if p.dtype != b.dtype and canonical_dtype(p.dtype) != canonical_dtype(b.dtype):
        found.append("dtype")
    if p.shape != b.shape:
        found.append("shape")
    if p.requires_grad != b.requires_grad and None not in (p.requires_grad, b.requires_grad):
        found.append("requires_grad")
    return found
