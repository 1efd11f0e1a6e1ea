"""Says of one value of a call whether rounding explains where it differs from the reference."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import torch

from msprobe.acc_check.tolerance import FACTOR, tolerance, unit

Value: TypeAlias = Any  # whatever a call returns
Status = Literal["pass", "warning", "error", "SKIP"]
_ORDER: tuple[Status, ...] = ("SKIP", "pass", "warning", "error")
CERTAIN = 2.0  # times the tolerance: from here it is an error, below a warning
_SLOPE_LIMIT = 8.0
_ENOUGH = 16  # different values that a mean over rounding errors needs


@dataclass(frozen=True, slots=True)
class Judgement:
    """`ratio` is the largest error in units of its tolerance, None where none was measured."""

    status: Status
    message: str = ""
    ratio: float | None = None


def worst(statuses: list[Status]) -> Status:
    """The worst of several; SKIP only where there is nothing else."""
    return max(statuses, key=_ORDER.index, default="SKIP")


def judge_plain(device: Value, reference: Value) -> Judgement:
    """Python values that are no tensors: equal, or floats that round alike."""
    if device == reference or (device != device and reference != reference):  # noqa: PLR0124 - NaN
        return Judgement("pass")
    both = isinstance(device, float) and isinstance(reference, float)
    if both and math.isclose(device, reference, rel_tol=1e-6):
        return Judgement("pass")
    return Judgement("error", f"is {device!r}, the reference has {reference!r}")


def judge_form(device: Value, reference: Value) -> Judgement | None:
    """An error of type or shape, or None; empty tensors and missing ones are skipped."""
    if isinstance(device, torch.Tensor) != isinstance(reference, torch.Tensor):
        ours, theirs = type(device).__name__, type(reference).__name__
        return Judgement("error", f"is a {ours}, the reference has a {theirs}")
    if not isinstance(device, torch.Tensor):
        return None
    if device.shape != reference.shape:
        shapes = f"shape is {list(device.shape)}, the reference has {list(reference.shape)}"
        return Judgement("error", shapes)
    if _kind(device.dtype) != _kind(reference.dtype):
        return Judgement("error", f"format is {device.dtype}, the reference has {reference.dtype}")
    return Judgement("SKIP", "it has no elements") if device.numel() == 0 else None


def judge_integers(device: torch.Tensor, reference: torch.Tensor) -> Judgement:
    """Integers and truth values are equal or wrong."""
    unequal = int((device != reference).sum())
    if not unequal:
        return Judgement("pass")
    return Judgement("error", f"{unequal} of {device.numel()} elements differ")


def judge_floats(
    device: torch.Tensor,
    reference: torch.Tensor,
    exact: torch.Tensor,
    deviation: torch.Tensor | None,
    *,
    rounds_twice: bool = False,
) -> Judgement:
    """Each element within its tolerance, and no error that all elements share.

    `reference` and `exact` are the same but where the reference has the format of the device:
    then both round, and the tolerance is doubled.
    """
    broken = _nonfinite(device, reference, deviation)
    if broken is not None:
        return broken
    finite = torch.isfinite(device) & torch.isfinite(reference)
    allowed = tolerance(exact, device.dtype, deviation) * (2 if rounds_twice else 1)
    error = (_wide(device) - _wide(reference)).abs().double()
    ratios = torch.where(finite, error / allowed, 0.0)
    ratio = float(ratios.max())
    place = int(ratios.argmax())
    if ratio <= 1:
        return _shared_error(device, reference, deviation, finite, ratio)
    said = (
        f"error {float(error.reshape(-1)[place]):.3g} at element {place} is {ratio:.3g} times "
        f"what rounding explains there ({float(allowed.reshape(-1)[place]):.3g}); "
        f"{int((ratios > 1).sum())} of {device.numel()} elements lie above"
    )
    return Judgement("error" if ratio > CERTAIN else "warning", said, ratio)


def rounded_between(judged: Judgement, dtype: torch.dtype) -> Judgement:
    """What is right only if the operator rounds between its steps: a warning, if it passed."""
    if judged.status != "pass":
        return judged
    said = f"explained only by rounding to {dtype} inside the operator; it loses more than it must"
    return Judgement("warning", said, judged.ratio)


def _nonfinite(
    device: torch.Tensor, reference: torch.Tensor, deviation: torch.Tensor | None
) -> Judgement | None:
    """NaN or infinity where the reference, brought to the format, has another number."""
    stored = reference.to(device.dtype)
    same = (device == stored) | (device.isnan() & stored.isnan())
    differs = ~same & ~(torch.isfinite(device) & torch.isfinite(stored))
    if deviation is not None:
        differs &= torch.isfinite(deviation)
    largest = torch.finfo(device.dtype).max
    near = reference.abs().double() > largest * (1 - 4 * unit(device.dtype))
    differs &= ~(near & ~device.isnan())
    count = int(differs.sum())
    if not count:
        return None
    place = int(differs.reshape(-1).int().argmax())
    ours, theirs = device.reshape(-1)[place].item(), stored.reshape(-1)[place].item()
    return Judgement(
        "error",
        f"{count} of {device.numel()} elements are not finite where the reference is, or the "
        f"other way: element {place} is {ours}, the reference has {theirs}",
        math.inf,
    )


def _shared_error(
    device: torch.Tensor,
    reference: torch.Tensor,
    deviation: torch.Tensor | None,
    finite: torch.Tensor,
    ratio: float,
) -> Judgement:
    """A factor that all elements share shows in the mean long before it shows in one of them.

    The reference is brought to the format first, so that a correctly rounded result has no error
    here; what is left of different numbers is independent, so its part of the slope of the errors
    over the reference falls with their number. What happens before may be common to all.
    """
    if reference.is_complex():
        return Judgement("pass", ratio=ratio)
    theirs = torch.where(finite, _wide(reference.to(device.dtype)), 0)
    weight = float(theirs.square().sum())
    if not math.isfinite(weight) or weight == 0 or theirs.unique().numel() < _ENOUGH:
        return Judgement("pass", ratio=ratio)
    ours = torch.where(finite, _wide(device), 0)
    slope = float((theirs * (ours - theirs)).sum()) / weight
    last = unit(device.dtype) * float(theirs.square().square().sum().sqrt()) / weight
    before = 0.0
    if deviation is not None:
        before = float((theirs.abs() * deviation.nan_to_num(posinf=0.0)).sum()) / weight
    allowed = _SLOPE_LIMIT / math.sqrt(3) * last + FACTOR * before
    if abs(slope) <= allowed:
        return Judgement("pass", ratio=ratio)
    said = (
        f"all elements are off by a common factor {1 + slope:.6g}, {abs(slope) / allowed:.3g} "
        "times what rounding leaves in the mean"
    )
    return Judgement("error", said, ratio)


def _wide(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.to(torch.complex128 if tensor.dtype.is_complex else torch.float64)


def _kind(dtype: torch.dtype) -> str:
    if dtype == torch.bool:
        return "bool"
    if dtype.is_complex:
        return "complex"
    return "float" if dtype.is_floating_point else "integer"
