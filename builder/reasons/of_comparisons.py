"""What is said of a comparison as a whole, of pairs of modules and of files of msprobe."""

from __future__ import annotations

from typing import Literal, TypeAlias, Union

from msgspec import UNSET, UnsetType

from builder.reasons.fact import ComparisonFact, MsprobeFact, PairingFact, Side


class PrecisionSetting(ComparisonFact, frozen=True):
    """The two runs compute in two formats."""

    problem: str
    benchmark: str


class StatisticsOnly(ComparisonFact, frozen=True):
    """Of earlier releases: a tensor dump against one of statistics."""


class UnlikeStatistics(ComparisonFact, frozen=True):
    """Dumps of unlike tasks, compared on statistics."""

    problem: str
    benchmark: str


class UnlikeChecksums(ComparisonFact, frozen=True):
    """Dumps of unlike tasks, compared on checksums."""

    problem: str
    benchmark: str


class UnlikeAttributes(ComparisonFact, frozen=True):
    """Dumps of unlike tasks without a measure in common."""

    problem: str
    benchmark: str


class UnlikeNames(ComparisonFact, frozen=True):
    """Dumps of unlike tasks of which one holds no values."""

    problem: str
    benchmark: str


class NodesFact(ComparisonFact, frozen=True, kw_only=True):
    """`count` nodes of all steps and ranks are alike; `name` is the first, in `step` and `rank`.

    Files of earlier releases do not tell the step and the rank.
    """

    count: int
    step: int | UnsetType = UNSET
    rank: int | UnsetType = UNSET


class RatedError(NodesFact, frozen=True):
    """Nodes are rated error for what is no number, without a finding."""

    name: str | None


class UntoldChoices(NodesFact, frozen=True):
    """Calls pick other elements, and nothing tells whether that is a tie."""

    name: str


class Ties(NodesFact, frozen=True):
    """Calls rank numbers that agree to rounding."""

    name: str


class Amplifies(NodesFact, frozen=True):
    """Calls choose between numbers which lie nearer than the runs are apart.

    In `rows` of `of` rows it chose otherwise; `margin` and `apart` are as of `AmplifiedAt`.
    """

    name: str
    margin: float
    apart: float
    rows: int
    of: int


class NumberTaken(ComparisonFact, frozen=True):
    """A folder has the number of another one."""

    side: Side
    name: str
    number: int


class PlacedByNames(ComparisonFact, frozen=True):
    """A dump does not say where its calls stand."""

    side: Side


class Merged(ComparisonFact, frozen=True):
    """The ranks of a layout are compared as one run; both layouts as text."""

    problem: str
    benchmark: str


class NotMerged(ComparisonFact, frozen=True):
    """Compared rank by rank."""

    why: str


class MergedByName(ComparisonFact, frozen=True):
    """Joined ranks that share so few of their calls by name that they may be of two programs."""

    shared: float


class MergedLittle(ComparisonFact, frozen=True):
    """Fewer than half of the values of merged ranks could be compared."""

    compared: int
    total: int


class MergedValues(ComparisonFact, frozen=True):
    """What became of the values of merged ranks."""

    compared: int
    bounded: int
    assumed: int
    set_aside: int
    reasons: str


class OnlyIn(ComparisonFact, frozen=True):
    """A step and rank of one run alone."""

    step: int
    rank: int
    side: Side


class NothingComparable(ComparisonFact, frozen=True):
    """No values could be compared."""


class TwoFrameworks(ComparisonFact, frozen=True):
    """The dumps are of two frameworks."""

    problem: str
    benchmark: str


# How sure a kind of pair is; `told` where a person has said it.
KindSure: TypeAlias = Literal["certain", "likely", "possible", "told"]


class OneProgram(ComparisonFact, frozen=True):
    """The runs are of one program: of their calls so many pair by name, as a share."""

    sure: KindSure
    shared: float


class TwoVersions(ComparisonFact, frozen=True):
    """The runs are of two versions of one program: `alone` nodes of both have no partner."""

    sure: KindSure
    shared: float
    alone: int


class TwoPrograms(ComparisonFact, frozen=True):
    """The runs are of two programs of one model; of so many `weights` as many are `found`.

    `shared` is the share of calls that pair by name.
    """

    sure: KindSure
    shared: float | None
    found: int
    weights: int


class SameTokens(ComparisonFact, frozen=True):
    """The runs compute the same tokens with one model's weights, laid out in unlike ways."""

    sure: KindSure
    tokens: int
    requests: int
    found: int
    weights: int


class UnknownKind(ComparisonFact, frozen=True):
    """The runs share too little for any kind to be told."""

    shared: float | None


class TwoImplementations(ComparisonFact, frozen=True):
    """The dumps are of two programs of one model, which their weights tell.

    Of the run with fewer `weights` as many are `found` in the other, `fused` of them within or
    over several; `modules` are compared, at their edges alone. `of` says that they are calls, as
    where no module was recorded.
    """

    found: int
    weights: int
    fused: int
    modules: int
    of: Literal["calls"] | UnsetType = UNSET


class TokensAligned(ComparisonFact, frozen=True):
    """The runs compute the same tokens in other forward passes, and each is compared.

    `requests` have `tokens` in common, which the run that is cut up computed in so many `passes`;
    `left` are its rows that the other run has in no sequence.
    """

    tokens: int
    requests: int
    passes: int
    left: int


class RulesUnfit(ComparisonFact, frozen=True):
    """Rules of a user for calls that fit none."""

    names: str
    count: int


class FilesBroken(ComparisonFact, frozen=True):
    """Files of values that cannot be read."""

    name: str
    count: int


class SameParameters(PairingFact, frozen=True):
    """So many parameters of the same shapes."""

    count: int


class SameClass(PairingFact, frozen=True):
    """Modules of one class."""

    name: str


class SameInside(PairingFact, frozen=True):
    """So many modules inside on both sides."""

    count: int


class SamePlace(PairingFact, frozen=True):
    """The same place among the modules around."""


class WrittenByMsprobe(MsprobeFact, frozen=True, tag="msprobe_file"):
    """The file is of msprobe's own builder."""


class MsprobeError(MsprobeFact, frozen=True):
    """msprobe's rules call a node an error."""


class MsprobeMessage(MsprobeFact, frozen=True):
    """What msprobe says of a value."""

    value: str
    text: str


class ParallelMerge(MsprobeFact, frozen=True):
    """What msprobe says of merged ranks."""

    text: str


# What speaks for a pair of modules.
PairingReason: TypeAlias = SameParameters | SameClass | SameInside | SamePlace
# All reasons of this file.
ComparisonReason: TypeAlias = Union[  # noqa: UP007 - a line each
    PrecisionSetting,
    StatisticsOnly,
    UnlikeStatistics,
    UnlikeChecksums,
    UnlikeAttributes,
    UnlikeNames,
    RatedError,
    UntoldChoices,
    Ties,
    Amplifies,
    NumberTaken,
    PlacedByNames,
    Merged,
    NotMerged,
    MergedByName,
    MergedLittle,
    MergedValues,
    OnlyIn,
    NothingComparable,
    TwoFrameworks,
    OneProgram,
    TwoVersions,
    TwoPrograms,
    SameTokens,
    UnknownKind,
    TwoImplementations,
    TokensAligned,
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
