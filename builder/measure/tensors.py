"""Measures of two tensors element by element, one pass over the data in blocks.

All sums are carried in float64; a block of 256k elements stays in the processor's cache.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf, isfinite, sqrt
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

BLOCK = 1 << 18


@dataclass(frozen=True, slots=True)
class TensorMeasures:
    """The measures that users of tensor dumps know, and the relative error of the score.

    cosine; euc_dist = ‖p−b‖₂; max_abs_err = max|p−b|; max_rel_err = max|p−b|/|b|; the shares of
    elements with a relative error below 0.1 % and 0.5 %; relative_error = ‖p−b‖₂/‖b‖₂.
    """

    cosine: float
    euc_dist: float
    max_abs_err: float
    max_rel_err: float
    one_thousandth: float
    five_thousandths: float
    relative_error: float


@dataclass(slots=True)
class _Sums:
    count: int = 0
    difference: float = 0.0
    problem: float = 0.0
    benchmark: float = 0.0
    product: float = 0.0
    max_abs: float = 0.0
    max_rel: float = 0.0
    within_1: int = 0
    within_5: int = 0
    one_sided: int = 0


class TensorFileError(ValueError):
    """A tensor file that cannot be read or is refused."""


def load_tensor(path: Path) -> NDArray[Any]:
    """Read a dumped tensor as a flat array; bfloat16 and 8-bit floats come as float32.

    Raises TensorFileError for a missing or broken file and for pickles that hold code.
    """
    import torch

    try:
        tensor = torch.load(path, map_location="cpu", weights_only=True)
    except FileNotFoundError:
        raise TensorFileError("missing") from None
    except Exception as error:  # torch.load raises whatever the broken bytes lead it to
        raise TensorFileError(f"refused: {str(error).splitlines()[0][:120]}") from error
    if not isinstance(tensor, torch.Tensor):
        raise TensorFileError(f"holds a {type(tensor).__name__}, no tensor")
    tensor = tensor.detach().contiguous().reshape(-1)
    if tensor.dtype is torch.bfloat16 or "float8" in str(tensor.dtype):
        tensor = tensor.to(torch.float32)
    if tensor.is_complex():
        tensor = torch.view_as_real(tensor.resolve_conj()).reshape(-1)
    array: NDArray[Any] = tensor.numpy()
    return array


def compare_tensors(problem: NDArray[Any], benchmark: NDArray[Any]) -> TensorMeasures | None:
    """Measure two flat arrays of the same length; None when they are empty or of another length.

    NaN and Inf at the same positions agree; on one side only they make every error infinite.
    """
    if problem.size != benchmark.size or problem.size == 0:
        return None
    sums = _Sums(count=problem.size)
    for ours, theirs in _blocks(problem, benchmark):
        _add_block(sums, ours, theirs)
    return _finish(sums)


def _blocks(
    problem: NDArray[Any], benchmark: NDArray[Any]
) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
    # float32 is measured as it is; everything else is widened, so that int8 and bool subtract.
    wide = np.float32 if problem.dtype == benchmark.dtype == np.float32 else np.float64
    for start in range(0, problem.size, BLOCK):
        part = slice(start, start + BLOCK)
        yield (
            problem[part].astype(wide, copy=False),
            benchmark[part].astype(wide, copy=False),
        )


def _add_block(sums: _Sums, ours: NDArray[Any], theirs: NDArray[Any]) -> None:
    with np.errstate(all="ignore"):
        if not np.isfinite(np.dot(ours, ours) + np.dot(theirs, theirs)):
            ours, theirs = _set_aside_nonfinite(sums, ours, theirs)
        difference = np.subtract(ours, theirs)
        sums.difference += float(np.dot(difference, difference))
        sums.problem += float(np.dot(ours, ours))
        sums.benchmark += float(np.dot(theirs, theirs))
        sums.product += float(np.dot(ours, theirs))
        np.abs(difference, out=difference)
        sums.max_abs = max(sums.max_abs, float(difference.max(initial=0)))
        if sums.max_abs == 0.0:
            sums.within_1 += difference.size
            sums.within_5 += difference.size
            return
        relative = np.divide(difference, np.abs(theirs), out=difference)
        relative[np.isnan(relative)] = 0.0  # 0 against 0
        sums.max_rel = max(sums.max_rel, float(relative.max(initial=0)))
        sums.within_1 += int(np.count_nonzero(relative < 1e-3))
        sums.within_5 += int(np.count_nonzero(relative < 5e-3))


def _set_aside_nonfinite(
    sums: _Sums, ours: NDArray[Any], theirs: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any]]:
    ours, theirs = ours.astype(np.float64), theirs.astype(np.float64)
    bad_ours, bad_theirs = ~np.isfinite(ours), ~np.isfinite(theirs)
    agree = (ours == theirs) | (np.isnan(ours) & np.isnan(theirs))
    sums.one_sided += int(np.count_nonzero((bad_ours | bad_theirs) & ~agree))
    keep = ~(bad_ours | bad_theirs)
    aside = int(np.count_nonzero(~keep & agree))
    sums.within_1 += aside
    sums.within_5 += aside
    return ours[keep], theirs[keep]


def _finish(sums: _Sums) -> TensorMeasures:
    distance, scale = sqrt(sums.difference), sqrt(sums.benchmark)
    error = _ratio(distance, scale)
    if sums.one_sided:
        distance = sums.max_abs = sums.max_rel = error = inf
    magnitude = sqrt(sums.problem) * scale
    cosine = sums.product / magnitude if magnitude else float(distance == 0)
    return TensorMeasures(
        cosine=max(-1.0, min(1.0, cosine)) if isfinite(cosine) else 0.0,
        euc_dist=distance,
        max_abs_err=sums.max_abs,
        max_rel_err=sums.max_rel,
        one_thousandth=sums.within_1 / sums.count,
        five_thousandths=sums.within_5 / sums.count,
        relative_error=error,
    )


def _ratio(difference: float, scale: float) -> float:
    if difference == 0:
        return 0.0
    return difference / scale if scale else inf
