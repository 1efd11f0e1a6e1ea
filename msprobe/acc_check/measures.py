"""The measures of the standards that users know, one column each.

Small values are those at or below the format's small-value threshold; relative errors and the root
mean square leave them out, the share of small errors looks at nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from msprobe.acc_check.columns import (
    ABSOLUTE_ERRORS,
    BALANCE,
    COSINE,
    LARGEST_ERROR,
    LARGEST_RELATIVE,
    LARGEST_ULP,
    MEAN_RELATIVE,
    MEAN_ULP,
    NONFINITE,
    RELATIVE_ERRORS,
    ROOT_MEAN_SQUARE,
    SHARES,
    SMALL_ERRORS,
    ULP_ABOVE,
    UNEQUAL,
)


@dataclass(frozen=True, slots=True)
class _Limits:
    """Of one format: `mantissa` bits, `least` exponent, and the thresholds of the standards."""

    small: float
    small_error: float
    relative: float
    mantissa: int
    least: int
    ulp: float


_LIMITS = {
    torch.float16: _Limits(2.0**-10, 2.0**-16, 2.0**-10, 10, -14, 1.0),
    torch.bfloat16: _Limits(2.0**-10, 1e-16, 2.0**-8, 7, -126, 1.0),
    torch.float32: _Limits(2.0**-20, 2.0**-30, 2.0**-20, 23, -126, 32.0),
}


def measure(device: torch.Tensor, reference: torch.Tensor) -> dict[str, float]:
    """All columns that apply to a value; both sides on the CPU and of one shape."""
    if device.numel() == 0:
        return {}
    if not (device.dtype.is_floating_point or device.dtype.is_complex):
        return {UNEQUAL: float((device != reference).double().mean())}
    wide = torch.complex128 if device.dtype.is_complex else torch.float64
    ours, theirs = device.to(wide).reshape(-1), reference.to(wide).reshape(-1)
    both = torch.isfinite(ours) & torch.isfinite(theirs)
    agree = (ours == theirs) | (ours.isnan() & theirs.isnan())
    columns = {NONFINITE: float((~both & ~agree).double().mean())}
    ours, theirs = ours[both], theirs[both]
    if not ours.numel():
        return columns
    error = (ours - theirs).abs()
    size = theirs.abs()
    relative = error / (size + torch.finfo(device.dtype).eps)
    columns |= _cosine(ours, theirs)
    columns[LARGEST_ERROR] = float(error.max())
    columns |= {name: float((relative < limit).double().mean()) for name, limit in SHARES.items()}
    limits = _LIMITS.get(device.dtype)
    return columns if limits is None else columns | _by_format(ours, theirs, error, size, limits)


def _cosine(ours: torch.Tensor, theirs: torch.Tensor) -> dict[str, float]:
    if ours.numel() < 2 or ours.is_complex():
        return {}
    norms = float(ours.norm() * theirs.norm())
    return {COSINE: float(ours @ theirs) / norms} if norms else {}


def _by_format(
    ours: torch.Tensor,
    theirs: torch.Tensor,
    error: torch.Tensor,
    size: torch.Tensor,
    limits: _Limits,
) -> dict[str, float]:
    is_small = size <= limits.small
    large, small = error[~is_small], error[is_small]
    relative = large / size[~is_small]
    ulp = error * torch.exp2(limits.mantissa - _exponent(size, limits.least))
    more, less = int((ours > theirs).sum()), int((ours < theirs).sum())
    return {
        BALANCE: abs(more - less) / ours.numel(),
        ROOT_MEAN_SQUARE: float(large.square().mean().sqrt()) if large.numel() else 0.0,
        SMALL_ERRORS: _share(small > limits.small_error),
        LARGEST_RELATIVE: float(relative.max()) if relative.numel() else 0.0,
        MEAN_RELATIVE: float(relative.mean()) if relative.numel() else 0.0,
        RELATIVE_ERRORS: _share(relative > limits.relative),
        ABSOLUTE_ERRORS: _share(small > limits.small_error),
        LARGEST_ULP: float(ulp.max()),
        MEAN_ULP: float(ulp.mean()),
        ULP_ABOVE: _share(ulp > limits.ulp),
    }


def _exponent(size: torch.Tensor, least: int) -> torch.Tensor:
    mantissa, exponent = torch.frexp(size)
    del mantissa  # in [0.5, 1): one more than the logarithm's floor
    return (exponent - 1).clamp(min=least)


def _share(which: torch.Tensor) -> float:
    return float(which.double().mean()) if which.numel() else 0.0
