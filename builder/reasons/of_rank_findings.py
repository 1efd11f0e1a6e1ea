"""Why a finding is one of ranks that should agree, or share their work."""

from __future__ import annotations

from typing import TypeAlias

from msgspec import UNSET, UnsetType

from builder.reasons.fact import FindingFact, Measured


class RowsDiffer(FindingFact, frozen=True):
    """Some ranks are given other rows of the batch."""

    value: str
    count: int
    total: int
    ranks: str
    coordinates: str


class RewrittenOn(FindingFact, frozen=True):
    """The same of some ranks."""

    step: int
    ranks: str
    coordinates: str


class ReplicaDiffers(FindingFact, frozen=True):
    """What should be the same on all ranks of an axis is not; `error` is relative."""

    value: str
    axis: str
    ranks: str
    coordinates: str
    error: Measured


class Misplaced(FindingFact, frozen=True):
    """Some ranks hold other positions than the run's order says."""

    value: str
    axis: str
    ranks: str
    coordinates: str
    error: Measured
    order: str


class NotReduced(FindingFact, frozen=True):
    """The ranks' values are not summed over an axis."""

    axis: str


class OtherAxis(FindingFact, frozen=True):
    """A collective runs over another axis than in the other layers."""

    text: str


class RanksConflict(FindingFact, frozen=True):
    """The ranks of the problem run contradict each other in what those of the benchmark do not.

    `text` is what they say of each other.
    """

    text: str
    axis: str
    ranks: str
    coordinates: str


class PartialUsed(FindingFact, frozen=True):
    """A part of a sum is used as the whole."""

    text: str


class ShardDiffers(FindingFact, frozen=True):
    """The parts of some ranks are off."""

    ranks: str
    coordinates: str


class OnRanks(FindingFact, frozen=True):
    """The ranks that have a node, and what it is called there."""

    ranks: str
    coordinates: str
    there: str
    origin: str | UnsetType = UNSET


# The reasons that name ranks and where these stand.
RankedFact: TypeAlias = (
    ReplicaDiffers | Misplaced | RanksConflict | RowsDiffer | RewrittenOn | ShardDiffers | OnRanks
)
AxisFact: TypeAlias = ReplicaDiffers | Misplaced | NotReduced | RanksConflict
Conflict: TypeAlias = ReplicaDiffers | Misplaced
