"""Positions that a call chooses (topk, argmax, sort): judged by what it guarantees.

Where elements are equal any of them may be named, so what stands at the named positions counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from msprobe.acc_check.judge import Judgement

# Position and default of the argument `dim`; None: the whole tensor.
_DIMENSION: Mapping[str, tuple[int, int | None]] = {
    "topk": (2, -1),
    "sort": (1, -1),
    "argsort": (1, -1),
    "msort": (9, 0),
    "kthvalue": (2, -1),
    "max": (1, None),
    "min": (1, None),
    "argmax": (1, None),
    "argmin": (1, None),
    "median": (1, None),
    "nanmedian": (1, None),
    "mode": (1, -1),
    "cummax": (1, None),
    "cummin": (1, None),
}
_DISTINCT = frozenset({"topk", "sort", "argsort"})


def chooses(api: str) -> bool:
    """Whether the integers that an API returns are positions in its first argument."""
    return api in _DIMENSION


def judge_positions(
    api: str,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    device: torch.Tensor,
    reference: torch.Tensor,
) -> Judgement:
    """Positions are right if what stands there is what stands at the reference's."""
    source = args[0] if args else kwargs.get("input", kwargs.get("self"))
    dim = _dim(api, args, kwargs)
    if torch.equal(device, reference):
        return Judgement("pass")
    ours, theirs = _at(source, dim, device), _at(source, dim, reference)
    if ours is None or theirs is None:
        return Judgement("error", "a position lies outside the tensor")
    if not _is_sorted(api, args, kwargs):
        ours, theirs = ours.sort(-1 if dim is None else dim).values, _sorted(theirs, dim)
    unequal = int((~((ours == theirs) | (ours.isnan() & theirs.isnan()))).sum())
    if unequal:
        said = f"{unequal} of {device.numel()} positions name another element than the reference"
        return Judgement("error", said)
    if api in _DISTINCT and _repeats(device, dim):
        return Judgement("error", "a position is named twice")
    return Judgement("pass", "equal elements are chosen in another order")


def is_unordered(api: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """Whether the call leaves the order of its results open (`topk(sorted=False)`)."""
    return api == "topk" and not _is_sorted(api, args, kwargs)


def _is_sorted(api: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    return api != "topk" or bool(kwargs.get("sorted", args[4] if len(args) > 4 else True))


def _dim(api: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> int | None:
    position, default = _DIMENSION[api]
    dim = kwargs.get("dim", args[position] if len(args) > position else default)
    return dim if isinstance(dim, int) else None


def _at(source: torch.Tensor, dim: int | None, positions: torch.Tensor) -> torch.Tensor | None:
    flat = dim is None
    whole = source.detach().reshape(-1) if flat else source.detach()
    along = 0 if dim is None else dim
    length = whole.shape[along] if whole.dim() else 1
    if int(positions.min()) < 0 or int(positions.max()) >= length:
        return None
    if flat:
        return whole[positions.reshape(-1)]
    missing = whole.dim() - positions.dim()
    kept = positions.unsqueeze(along) if missing == 1 else positions
    return torch.gather(whole, along, kept)


def _sorted(values: torch.Tensor, dim: int | None) -> torch.Tensor:
    return values.sort(-1 if dim is None else dim).values


def _repeats(positions: torch.Tensor, dim: int | None) -> bool:
    if positions.dim() == 0:
        return False
    ordered = _sorted(positions, dim)
    along = -1 if dim is None else dim
    return bool((ordered.diff(dim=along) == 0).any())
