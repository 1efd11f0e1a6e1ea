"""Which findings of ranks have one cause: the same of many parameters, and what follows from it."""

from __future__ import annotations

from collections.abc import Hashable

from builder.ranks.checks.check_finding import CheckFinding
from builder.ranks.joining.told import OPTIMIZER
from builder.reasons import (
    ClippedApart,
    CopiesScaledApart,
    GradientsScaledApart,
    LayersEqual,
    PartAdded,
    PartBent,
    RankReason,
    SumOfPeersUsed,
    UnlikeAdded,
)
from builder.reasons.reason import value_of

GRADIENT, PARAMETERS = "input.gradient", "parameters."
_UPDATED = "output.value"
_FACTORS = (GradientsScaledApart, ClippedApart)
# What is said of a call that makes unlike values of what should be alike on ranks: it reads a part
# of a sum as if it were the sum, or scales copies by numbers of their own.
_MAKES_UNLIKE = (SumOfPeersUsed, PartAdded, PartBent, CopiesScaledApart)


def told_value(finding: CheckFinding) -> str:
    """The key of the value that a finding is about; "" where it is about none."""
    return next(filter(None, map(value_of, finding.reasons)), "")


def kind_of(finding: CheckFinding) -> tuple[Hashable, ...]:
    """What a finding says, whatever numbers it gives."""
    return (finding.check, finding.axis, tuple(map(_code_of, finding.reasons)))


def cause_of(finding: CheckFinding) -> Hashable | None:
    """What findings of one cause have alike; None for one that stands for itself.

    One cause are parameters that ranks hold unlike or update alike wrongly, whichever they are,
    those of layers that a stage holds in place of its own, and sums of unlike parameters: from the
    first collective that is out of step all others are.
    """
    said = kind_of(finding)
    if finding.node.startswith(OPTIMIZER):
        return (*said, finding.ranks)
    if _is_of_replicas(finding) or _says(finding, (LayersEqual,)):
        return (*said[:2], finding.ranks)
    if _says(finding, (UnlikeAdded,)):
        return (*said, finding.ranks)
    return None


def makes_unlike(finding: CheckFinding) -> bool:
    """Whether all that is computed behind it is another on each rank of its axis: with a replica
    that differs, of a part of a sum that is read as the whole, of copies that are scaled apart.
    """
    return _says(finding, _MAKES_UNLIKE) or _is_of_replicas(finding)


def follows(finding: CheckFinding, maker: CheckFinding) -> bool:
    """Whether it is a gradient that ranks hold unlike, or what it updates, behind a finding that
    makes them so; in a later step, a parameter as it was left. Of copies that are scaled apart also
    that they were clipped so.
    """
    if finding.axis != maker.axis:
        return False
    if _says(finding, _FACTORS):
        return _says(maker, (CopiesScaledApart,))
    if finding.check != "replica":
        return False
    if told_value(finding) in (GRADIENT, _UPDATED):
        return True
    return _is_of_replicas(finding) and finding.step > maker.step


def _says(finding: CheckFinding, reasons: tuple[type[RankReason], ...]) -> bool:
    return any(isinstance(reason, reasons) for reason in finding.reasons)


def _is_of_replicas(finding: CheckFinding) -> bool:
    """Whether ranks read unlike replicas of a parameter."""
    return finding.check == "replica" and told_value(finding).startswith(PARAMETERS)


def _code_of(reason: RankReason) -> tuple[str, str | None]:
    return type(reason).__name__, value_of(reason)
