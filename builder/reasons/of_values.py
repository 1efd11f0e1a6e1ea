"""What is said of the values of a node: rules that apply, and notes beside them."""

from __future__ import annotations

from typing import TypeAlias, Union

from msgspec import UNSET, UnsetType

from builder.reasons.fact import ErrorOf, Measured, RuleFact, Side, ValueFact, ValueNote


class NonfiniteHere(RuleFact, frozen=True):
    """A statistic is NaN or infinite here alone."""

    value: str
    what: str
    state: str


class NormErrorAppears(RuleFact, frozen=True):
    """The relative error of a norm is above 0.5, those of the inputs below 0.1."""

    value: str
    error: Measured


class NormErrorGrows(RuleFact, frozen=True):
    """The relative error of a norm is more than 10 times that of the inputs."""

    value: str
    error: Measured


class ThousandthDrops(RuleFact, frozen=True):
    """The share of elements within 0.1 %, 0 to 1, is below 0.6, and above 0.9 of the inputs."""

    value: str
    ratio: Measured


class CosineDrops(RuleFact, frozen=True):
    """The cosine is 0.1 below that of the inputs."""

    value: str
    cosine: Measured


class AttributeDiffers(RuleFact, frozen=True):
    """Type, dtype, shape, requires_grad or value of an argument differ; both as text."""

    value: str
    attribute: str
    problem: str
    benchmark: str


class ChecksumDiffers(RuleFact, frozen=True):
    """The checksums of a value differ."""

    value: str


class ParameterUnmatched(RuleFact, frozen=True):
    """A parameter has no counterpart."""

    value: str


class Surplus(RuleFact, frozen=True):
    """One run alone has a value."""

    value: str
    side: Side


class Unrecorded(RuleFact, frozen=True):
    """One run alone has numbers of a value."""

    value: str
    side: Side


class Unreadable(ValueFact, frozen=True):
    """The tensor file of a value cannot be read; `error` as it was said."""

    value: str
    error: str


class Extension(ValueFact, frozen=True):
    """A rule of a user's own, or the pre-check, in its own words."""

    text: str


class MeasureTaken(ValueFact, frozen=True, tag="measure"):
    """A measure of a user's own; `number` is text where it is not finite, or none."""

    value: str
    name: str
    number: float | str | None


class FuzzyGuess(ValueFact, frozen=True):
    """A node was matched by likeness, 0 to 1."""

    partner: str
    score: float


class ElementsDiffer(ValueNote, frozen=True):
    """The four statistics agree and the elements do not; `error` is relative."""

    value: str
    error: float
    of: ErrorOf | UnsetType | None = UNSET


class ElementsApart(ValueNote, frozen=True):
    """Elements tell a difference; `error` is relative."""

    value: str
    error: float
    of: ErrorOf | UnsetType | None = UNSET


class ElementsCount(ValueNote, frozen=True):
    """So many elements of a mask differ, of `size`."""

    value: str
    count: int
    size: int


class StatisticsAgree(ValueNote, frozen=True):
    """Only elements differ."""

    value: str


class ExtremesAgree(ValueNote, frozen=True):
    """Only elements differ, and of statistics there are the largest and the smallest alone."""

    value: str


class Unwritten(ValueNote, frozen=True):
    """Memory that nobody had written yet."""

    value: str


class Fused(ValueNote, frozen=True):
    """A value that a compiler kept in no memory."""

    value: str


class Unread(ValueNote, frozen=True):
    """An input that its call does not read."""

    value: str


class Incomparable(ValueNote, frozen=True):
    """A gradient that means another thing in the other framework."""

    value: str


# All reasons of this file.
ValueReason: TypeAlias = Union[  # noqa: UP007 - a line each
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
]
