"""Calls that take random numbers: judged by their distribution, as their numbers are free."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from msprobe.acc_check.judge import Judgement

REFERENCE_DRAWS = 4
# One false alarm in a million calls: Smirnov's bound 2 exp(-2 c^2), and as many deviations.
_SMIRNOV = math.sqrt(-math.log(1e-6 / 2) / 2)
_DEVIATIONS = 5.0
_BY_CHANNEL = frozenset(
    "dropout1d dropout2d dropout3d feature_dropout feature_dropout_ feature_alpha_dropout "
    "feature_alpha_dropout_".split()
)
_DROPOUTS = frozenset("dropout dropout_".split())


def judge_draw(api: str, device: torch.Tensor, references: Sequence[torch.Tensor]) -> Judgement:
    """The values of a draw lie as those of several draws of the reference do (Smirnov's test).

    Where whole channels are kept or dropped, there are as many draws as channels.
    """
    ours = device.detach().double().reshape(-1)
    theirs = torch.cat([each.detach().double().reshape(-1) for each in references])
    if torch.isfinite(theirs).all() and not torch.isfinite(ours).all():
        return Judgement("error", "is not finite where every draw of the reference is")
    ours, theirs = ours.nan_to_num(), theirs.nan_to_num()
    distance = _largest_gap(ours, theirs)
    free = math.prod(device.shape[:2]) if api in _BY_CHANNEL else ours.numel()
    allowed = _SMIRNOV * math.sqrt((1 + 1 / len(references)) / max(free, 1))
    if distance <= allowed:
        return Judgement("pass", "drawn at random; judged by the distribution")
    said = f"its distribution is {distance:.3g} away from the reference's ({allowed:.3g} by chance)"
    return Judgement("error", said)


def is_dropout(api: str) -> bool:
    """Whether elements are kept, scaled, or zero, each by itself."""
    return api in _DROPOUTS


def judge_dropout(
    device: torch.Tensor, args: Sequence[Any], kwargs: Mapping[str, Any], epsilon: float
) -> Judgement:
    """Each element is 0 or its input over 1 - p, and about p of them are 0 (five deviations)."""
    values = args[0].detach().double()
    chance = float(kwargs.get("p", args[1] if len(args) > 1 else 0.5))
    kept = values / (1 - chance) if chance < 1 else torch.zeros_like(values)
    ours = device.detach().double()
    zero = ours == 0
    right = zero | ((ours - kept).abs() <= 4 * epsilon * kept.abs()) | ~torch.isfinite(kept)
    if not bool(right.all()):
        wrong = int((~right).sum())
        return Judgement("error", f"{wrong} elements are neither 0 nor their input over 1 - p")
    count = int((values != 0).sum())
    dropped = int((zero & (values != 0)).sum())
    allowed = _DEVIATIONS * math.sqrt(count * chance * (1 - chance)) + 1
    if abs(dropped - chance * count) > allowed:
        said = f"{dropped} of {count} elements are dropped; {chance * count:.0f} are expected"
        return Judgement("error", said)
    return Judgement("pass", f"{dropped} of {count} elements dropped at p = {chance:g}")


def _largest_gap(ours: torch.Tensor, theirs: torch.Tensor) -> float:
    points = torch.cat([ours, theirs]).unique()
    shares = [
        torch.searchsorted(sample.sort().values, points, right=True) / sample.numel()
        for sample in (ours, theirs)
    ]
    return float((shares[0] - shares[1]).abs().max())
