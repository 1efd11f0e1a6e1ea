"""Why a finding is one, and what else is said of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, TypeAlias, Union

from msgspec import UNSET, UnsetType

from builder.reasons.fact import ErrorOf, FindingFact, Measured, Side
from builder.reasons.of_rank_findings import (
    Misplaced,
    NotReduced,
    OnRanks,
    OtherAxis,
    PartialUsed,
    RanksConflict,
    ReplicaDiffers,
    RewrittenOn,
    RowsDiffer,
    ShardDiffers,
)


class Introduced(FindingFact, frozen=True):
    """Inputs agree, an output does not; both scores are 0 to 1."""

    value: str
    score: float
    input_score: float


class IntroducedBeyond(FindingFact, frozen=True):
    """Inputs differ, and not such that an output would."""

    value: str
    score: float
    input_score: float


class IntroducedInside(FindingFact, frozen=True):
    """Inputs of a module agree, and a value of `reader`, a module inside it, does not."""

    value: str
    score: float
    reader: str


class LeavesValues(FindingFact, frozen=True):
    """What `call` reads is equal to values of the other run, and nothing made of its output is.

    `value` is that output.
    """

    value: str
    call: str


class Drift(FindingFact, frozen=True):
    """A difference grows over many calls, most of all here."""

    value: str
    score: float


class FirstInexact(FindingFact, frozen=True):
    """All before agrees to the last digit; `reader` makes the difference grow."""

    value: str
    reader: str


class ElementsMoved(FindingFact, frozen=True):
    """What `maker` put out stands in other places where it is read."""

    value: str
    maker: str


class Explained(FindingFact, frozen=True):
    """How far a value is off, relative, and how much of that what differs before it explains.

    `of` says what `apart` is of, `at` which other call the value is of, `argument` what its
    signature names it. All elements may be those of the benchmark times one `factor`.
    """

    value: str
    apart: float
    explained: float
    of: ErrorOf | Literal["factor"] | UnsetType | None = UNSET
    at: str | UnsetType = UNSET
    factor: float | UnsetType = UNSET
    argument: str | UnsetType = UNSET


class BeginsAtToken(FindingFact, frozen=True):
    """The first token that is apart, by request and position; `apart` are so many of all `of`."""

    request: int
    position: int
    apart: int
    of: int


class AmplifiedAt(FindingFact, frozen=True):
    """A call behind it that chose otherwise in `rows` of `of` rows of what it ranks.

    The benchmark's numbers of the two choices are `margin` apart, and `apart` is by how much they
    moved against each other in the problem: no less.
    """

    name: str
    margin: float
    apart: float
    rows: int
    of: int


class ExtraCalls(FindingFact, frozen=True):
    """Calls that the problem run alone makes."""

    names: str


class MissingCalls(FindingFact, frozen=True):
    """Calls that the benchmark run alone makes."""

    names: str


class ExtraReplaced(FindingFact, frozen=True):
    """Calls of the problem run, and those of the benchmark run in their place."""

    names: str
    instead: str


def replaced_by(reasons: Sequence[object]) -> str | None:
    """The last call that the benchmark makes in place of those that are named; None without.

    A finding is named for the last of its own, which hands on what they make.
    """
    first = reasons[0] if reasons else None
    return first.instead.split(", ")[-1] if isinstance(first, ExtraReplaced) else None


class MissingReplaced(FindingFact, frozen=True):
    """Calls of the benchmark run, and those of the problem run in their place."""

    names: str
    instead: str


class CalledEarlier(FindingFact, frozen=True):
    """Calls of both runs that the problem run makes before `than` and the benchmark behind it."""

    names: str
    than: str


class CalledLater(FindingFact, frozen=True):
    """Calls of both runs that the problem run makes behind `than` and the benchmark before it."""

    names: str
    than: str


class ExtraInside(FindingFact, frozen=True):
    """Calls inside a module that the problem run alone makes."""

    names: str


class MissingInside(FindingFact, frozen=True):
    """Calls inside a module that the benchmark run alone makes."""

    names: str


class Heals(FindingFact, frozen=True):
    """All that comes of it agrees in the end."""


def do_heal(reasons: Iterable[object]) -> bool:
    """Whether reasons say that all that comes of a finding agrees in the end."""
    return any(isinstance(reason, Heals) for reason in reasons)


class CallsBeside(FindingFact, frozen=True):
    """Calls that one run alone makes at the same line."""

    names: str


class InPlaceOf(FindingFact, frozen=True):
    """Of earlier releases: the other run's calls in the same place."""

    names: str


class InputDiffers(FindingFact, frozen=True):
    """An input differs, and no recorded call explains that."""

    value: str
    score: float


class Rewired(FindingFact, frozen=True):
    """The two runs read what different calls put out."""

    value: str
    score: float
    maker: str
    instead: str


class ReadBefore(FindingFact, frozen=True):
    """No recorded call put out a value that `reader` read before; the benchmark reads `instead`."""

    value: str
    reader: str
    instead: str


class FedOtherwise(FindingFact, frozen=True):
    """A call without values was given what another call put out."""

    value: str
    maker: str
    instead: str


class BatchDiffers(FindingFact, frozen=True):
    """The model is given other data."""

    value: str
    score: float


class BatchRows(FindingFact, frozen=True):
    """The model is given another number of rows, which are the first dimension."""

    value: str
    rows: int
    rows_there: int


class BatchShaped(FindingFact, frozen=True):
    """The model is given data of another shape."""

    value: str
    shape: str
    shape_there: str


class UnrecordedDiffers(FindingFact, frozen=True):
    """An input differs that no recorded call makes; `maker` runs right before, without values."""

    value: str
    score: float
    maker: str | UnsetType = UNSET


class IntegersDiffer(FindingFact, frozen=True):
    """A value holds other integers."""

    value: str


class ParameterDiffers(FindingFact, frozen=True):
    """A parameter differs before the step computes anything."""

    value: str
    score: float


class Rewritten(FindingFact, frozen=True):
    """Other parameters are read than the optimizer left in a step."""

    step: int


class RewrittenThere(FindingFact, frozen=True):
    """The same of the benchmark run."""

    step: int


class GradientsKept(FindingFact, frozen=True):
    """Gradients are the benchmark's and what stood there before, in a step, added up."""

    step: int


class GradientsCleared(FindingFact, frozen=True):
    """Gradients lack what stood there before, in a step, and what the benchmark adds to."""

    step: int


class UpdatedAlone(FindingFact, frozen=True):
    """The optimizer of one run alone updates `count` parameters of which both have gradients.

    `names` are the first of them.
    """

    side: Side
    names: str
    count: int


class TiedThere(FindingFact, frozen=True):
    """Parameters `names` are one in the benchmark run; the problem run has `count` instead."""

    names: str
    count: int


class TiedHere(FindingFact, frozen=True):
    """Parameters `names` are one in the problem run; the benchmark run has `count` instead."""

    names: str
    count: int


class OptimizerDiffers(FindingFact, frozen=True, tag="optimizer"):
    """All gradients of a step agree: the optimizer's update is what differs."""

    step: int


class HiddenByInfinity(FindingFact, frozen=True):
    """Infinities hide whether an output agrees; what `reader` puts out does not."""

    value: str
    reader: str


class FusedAway(FindingFact, frozen=True):
    """A compiler left no record of what a call puts out; `reader` reads it, and is the first that
    differs.
    """

    value: str
    reader: str


class HandsOn(FindingFact, frozen=True, tag="handed_on"):
    """What a call hands on is not recorded; `reader` receives it, and it differs."""

    value: str
    reader: str


class NonfiniteMade(FindingFact, frozen=True):
    """NaN or infinity is made of finite inputs."""

    value: str
    state: str


class NonfiniteFirst(FindingFact, frozen=True):
    """The first NaN or infinity of a step."""

    value: str
    state: str


class NonfiniteFollows(FindingFact, frozen=True):
    """The first NaN or infinity of a step is in what `maker`, which runs later, puts out."""

    maker: str
    value: str
    state: str


class ArgumentDiffers(FindingFact, frozen=True):
    """A call is given another argument; both as text, None where a run gives none.

    `argument` is its name in the signature of the call, where `value` numbers its position.
    """

    value: str
    problem: str | None
    benchmark: str | None
    argument: str | UnsetType = UNSET


class ModeDiffers(FindingFact, frozen=True):
    """A module is trained here and evaluated in the benchmark, or with `of` the other way round."""

    module: str
    of: Literal["evaluation"] | UnsetType = UNSET


class PrecisionDiffers(FindingFact, frozen=True):
    """A call computes in another format."""

    problem: str
    benchmark: str


class PartnerMissing(FindingFact, frozen=True):
    """Another rank makes no call that belongs to a communication."""

    kind: str
    peer_rank: int


class CollectiveOrder(FindingFact, frozen=True):
    """Another rank makes another collective in this place."""

    kind: str
    other: str
    peer_rank: int


class CheckpointRecomputed(FindingFact, frozen=True):
    """A call that runs in the backward pass."""


class DefaultDiffers(FindingFact, frozen=True):
    """A default in which two frameworks differ; `value` and `other` are the two as text."""

    what: str
    value: str
    framework: str
    other: str
    other_framework: str


class GradientsScaled(FindingFact, frozen=True):
    """All gradients that the optimizer reads are so many times the benchmark's."""

    factor: Measured


class UpdatesDiffer(FindingFact, frozen=True):
    """What the optimizer reads or writes differs for nearly all parameters."""

    count: int


class SameOf(FindingFact, frozen=True):
    """The same is true of others, the first of them by name."""

    count: int
    names: str


class UpdateAlone(FindingFact, frozen=True):
    """What the optimizer reads agrees, what it leaves does not."""


# All reasons of findings.
FindingReason: TypeAlias = Union[  # noqa: UP007 - a line each
    Introduced,
    IntroducedBeyond,
    IntroducedInside,
    LeavesValues,
    Drift,
    FirstInexact,
    ElementsMoved,
    Explained,
    BeginsAtToken,
    AmplifiedAt,
    ExtraCalls,
    MissingCalls,
    ExtraReplaced,
    MissingReplaced,
    CalledEarlier,
    CalledLater,
    ExtraInside,
    MissingInside,
    Heals,
    CallsBeside,
    InPlaceOf,
    InputDiffers,
    Rewired,
    ReadBefore,
    FedOtherwise,
    BatchDiffers,
    BatchRows,
    BatchShaped,
    RowsDiffer,
    UnrecordedDiffers,
    IntegersDiffer,
    ParameterDiffers,
    GradientsCleared,
    GradientsKept,
    Rewritten,
    RewrittenOn,
    RewrittenThere,
    UpdatedAlone,
    TiedThere,
    TiedHere,
    OptimizerDiffers,
    HiddenByInfinity,
    FusedAway,
    HandsOn,
    NonfiniteMade,
    NonfiniteFirst,
    NonfiniteFollows,
    ArgumentDiffers,
    ModeDiffers,
    PrecisionDiffers,
    PartnerMissing,
    CollectiveOrder,
    CheckpointRecomputed,
    DefaultDiffers,
    ReplicaDiffers,
    Misplaced,
    NotReduced,
    OtherAxis,
    RanksConflict,
    PartialUsed,
    GradientsScaled,
    UpdatesDiffer,
    SameOf,
    UpdateAlone,
    ShardDiffers,
    OnRanks,
]
