"""What each question is given; whatever does not fit is refused before a file is touched."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

Name = Annotated[str, Meta(min_length=1, max_length=1000)]
Number = Annotated[int, Meta(ge=-(2**31), le=2**53)]  # helper processes have negative ranks
Offset = Annotated[
    int, Meta(ge=0, le=2**53, description="where to go on: `more` of the answer before")
]
Result = Annotated[
    str, Meta(min_length=1, max_length=1000, description="a result as list_results names it")
]
NodeRef = Annotated[
    Annotated[int, Meta(ge=0, le=2**53)] | Annotated[str, Meta(min_length=1, max_length=2000)],
    Meta(description="a node: its full name, or its id as an answer gives it"),
]
Place = Annotated[int | None, Meta(description="where the name occurs in several; else the first")]
FindingNumber = Annotated[int, Meta(ge=1, le=2**31, description="1 is the first, the best suspect")]
Dump = Annotated[
    str, Meta(min_length=1, max_length=1000, description="a dump's path below the folder")
]
Threshold = Annotated[float, Meta(gt=0, lt=1, description="the score above which a value diverges")]


class Asked(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What every question may be given."""

    offset: Offset = 0


class OfFolder(Asked, frozen=True):
    """Nothing but where to go on."""


class OfResult(Asked, frozen=True):
    """A result."""

    result: Result


class OfNode(OfResult, frozen=True):
    """A node of a result."""

    node: NodeRef
    step: Place = None
    rank: Place = None


class OfFinding(OfResult, frozen=True):
    """A finding of a result."""

    finding: FindingNumber = 1


class OfTwoResults(Asked, frozen=True):
    """Two results of the same runs, before and after a change."""

    before: Result
    after: Result


class OfNewResult(Asked, frozen=True):
    """Two dumps that are to be compared."""

    problem: Dump
    benchmark: Dump
    threshold: Threshold | None = None
