"""All reasons as one type, and as files have them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TypeAlias, Union

import msgspec

from builder.reasons.fact import NotUnderstood
from builder.reasons.of_comparisons import (
    FilesBroken,
    Merged,
    MergedLittle,
    MergedValues,
    MsprobeError,
    MsprobeMessage,
    NothingComparable,
    NotMerged,
    NumberTaken,
    OnlyIn,
    ParallelMerge,
    PlacedByNames,
    PrecisionSetting,
    RatedError,
    RulesUnfit,
    SameClass,
    SameInside,
    SameParameters,
    SamePlace,
    StatisticsOnly,
    Ties,
    TwoFrameworks,
    UnlikeAttributes,
    UnlikeChecksums,
    UnlikeNames,
    UnlikeStatistics,
    UntoldChoices,
    WrittenByMsprobe,
)
from builder.reasons.of_findings import (
    ArgumentDiffers,
    BatchDiffers,
    CallsBeside,
    CheckpointRecomputed,
    CollectiveOrder,
    DefaultDiffers,
    Drift,
    ElementsMoved,
    Explained,
    ExtraCalls,
    ExtraInside,
    ExtraReplaced,
    FedOtherwise,
    FirstInexact,
    GradientsScaled,
    HandsOn,
    Heals,
    HiddenByInfinity,
    InPlaceOf,
    InputDiffers,
    IntegersDiffer,
    Introduced,
    IntroducedBeyond,
    Misplaced,
    MissingCalls,
    MissingInside,
    MissingReplaced,
    NonfiniteFirst,
    NonfiniteFollows,
    NonfiniteMade,
    NotReduced,
    OnRanks,
    OptimizerDiffers,
    OtherAxis,
    ParameterDiffers,
    PartialUsed,
    PartnerMissing,
    PrecisionDiffers,
    ReplicaDiffers,
    Rewired,
    Rewritten,
    RewrittenOn,
    RewrittenThere,
    RowsDiffer,
    SameOf,
    ShardDiffers,
    UnrecordedDiffers,
    UpdateAlone,
    UpdatesDiffer,
)
from builder.reasons.of_values import (
    AttributeDiffers,
    ChecksumDiffers,
    CosineDrops,
    ElementsApart,
    ElementsCount,
    ElementsDiffer,
    Extension,
    ExtremesAgree,
    Fused,
    FuzzyGuess,
    Incomparable,
    MeasureTaken,
    NonfiniteHere,
    NormErrorAppears,
    NormErrorGrows,
    ParameterUnmatched,
    StatisticsAgree,
    Surplus,
    ThousandthDrops,
    Unread,
    Unreadable,
    Unrecorded,
    Unwritten,
)
from msprobe_core.format.bounded import parse_json

# The reasons that name ranks and where these stand.
RankedFact: TypeAlias = (
    ReplicaDiffers | Misplaced | RowsDiffer | RewrittenOn | ShardDiffers | OnRanks
)
AxisFact: TypeAlias = ReplicaDiffers | Misplaced | NotReduced
Conflict: TypeAlias = ReplicaDiffers | Misplaced
# What speaks for a pair of modules.
PairingReason: TypeAlias = SameParameters | SameClass | SameInside | SamePlace
# All reasons; type checkers hold every place that decides by one against this list.
Reason: TypeAlias = Union[  # noqa: UP007 - a line each
    NotUnderstood,
    NonfiniteHere,
    NormErrorAppears,
    NormErrorGrows,
    ThousandthDrops,
    CosineDrops,
    AttributeDiffers,
    ChecksumDiffers,
    ParameterUnmatched,
    Surplus,
    Unrecorded,
    Unreadable,
    Extension,
    MeasureTaken,
    FuzzyGuess,
    ElementsDiffer,
    ElementsApart,
    ElementsCount,
    StatisticsAgree,
    ExtremesAgree,
    Unwritten,
    Fused,
    Unread,
    Incomparable,
    Introduced,
    IntroducedBeyond,
    Drift,
    FirstInexact,
    ElementsMoved,
    Explained,
    ExtraCalls,
    MissingCalls,
    ExtraReplaced,
    MissingReplaced,
    ExtraInside,
    MissingInside,
    Heals,
    CallsBeside,
    InPlaceOf,
    InputDiffers,
    Rewired,
    FedOtherwise,
    BatchDiffers,
    RowsDiffer,
    UnrecordedDiffers,
    IntegersDiffer,
    ParameterDiffers,
    Rewritten,
    RewrittenOn,
    RewrittenThere,
    OptimizerDiffers,
    HiddenByInfinity,
    HandsOn,
    NonfiniteMade,
    NonfiniteFirst,
    NonfiniteFollows,
    ArgumentDiffers,
    PrecisionDiffers,
    PartnerMissing,
    CollectiveOrder,
    CheckpointRecomputed,
    DefaultDiffers,
    ReplicaDiffers,
    Misplaced,
    NotReduced,
    OtherAxis,
    PartialUsed,
    GradientsScaled,
    UpdatesDiffer,
    SameOf,
    UpdateAlone,
    ShardDiffers,
    OnRanks,
    PrecisionSetting,
    StatisticsOnly,
    UnlikeStatistics,
    UnlikeChecksums,
    UnlikeAttributes,
    UnlikeNames,
    RatedError,
    UntoldChoices,
    Ties,
    NumberTaken,
    PlacedByNames,
    Merged,
    NotMerged,
    MergedLittle,
    MergedValues,
    OnlyIn,
    NothingComparable,
    TwoFrameworks,
    RulesUnfit,
    FilesBroken,
    SameParameters,
    SameClass,
    SameInside,
    SamePlace,
    WrittenByMsprobe,
    MsprobeError,
    MsprobeMessage,
    ParallelMerge,
]

# json.dumps would make an encoder each time. It keeps NaN, which msgspec would write as null.
_encode = json.JSONEncoder(ensure_ascii=False).encode
_SHOWN = 3  # names of a longer list
_MOST_TEXT = 200  # characters of what is not understood


def same_of(names: Sequence[str]) -> list[Reason]:
    """That the same is true of others, the first few by name; nothing of none."""
    if not names:
        return []
    shown = ", ".join(names[:_SHOWN]) + (", …" if len(names) > _SHOWN else "")
    return [SameOf(len(names), shown)]


def encode(reasons: Iterable[Reason]) -> str | None:
    """The JSON text that the database stores; None when there is nothing to say."""
    listed = [msgspec.to_builtins(reason, enc_hook=_number) for reason in reasons]
    return _encode(listed) if listed else None


def _number(value: object) -> object:
    item = getattr(value, "item", None)  # a number of numpy
    if item is None:
        raise NotImplementedError(f"no {type(value).__name__} in a reason")
    return item()


def decode(text: str | None) -> list[Reason]:
    """The reasons in a cell, of this release or of another.

    What is not known, or cannot be read, becomes one that says so: nothing is left out in silence.
    """
    if not text:
        return []
    try:
        listed = parse_json(text)
    except ValueError:
        listed = None
    if not isinstance(listed, list):
        return [NotUnderstood(str(text)[:_MOST_TEXT])]
    return [_understood(facts) for facts in listed]


def _understood(facts: object) -> Reason:
    try:
        return msgspec.convert(facts, Reason)  # type: ignore[no-any-return]
    except msgspec.ValidationError:
        return NotUnderstood(_encode(facts)[:_MOST_TEXT])


def value_of(reason: Reason) -> str | None:
    """The key of the value that a reason is about; None where it is about none."""
    value = getattr(reason, "value", None)
    return value if isinstance(value, str) else None
