"""A finding as the JSON of commands and answers has it: one definition for all of them.

Keys are added within a version of the JSON, never renamed (docs/formats.md).
"""

from __future__ import annotations

import msgspec

from builder.dump.stack_frames import SourceLine
from builder.finding_certainty import Basis, Certainty, CertaintyWord, certainty_told

# What only a comparison of merged ranks has; left out of all others.
OF_MERGED_RANKS = frozenset(("path", "ranks", "coordinates", "axis", "check", "origin"))


class CertaintyFacts(msgspec.Struct, frozen=True):
    """How sure a finding is, and the sentence that says so."""

    word: CertaintyWord
    basis: Basis
    behind: bool
    text: str


class FindingFacts(msgspec.Struct, frozen=True, kw_only=True):
    """A place where the problem run begins to differ; `number` counts from 1, the best first.

    `source` is the model's line in the stack of its call, `called_from` the user's own where that
    is another; `source_benchmark` is the benchmark's line of the same call where it reads
    otherwise, or where it is called with other arguments. `certainty` is null in files of earlier
    releases. The other fields are those of a
    `Suspect`.
    """

    number: int
    step: int
    rank: int
    node: str
    type: str
    direction: str
    side: str
    kind: str
    inside: str | None
    order: int
    score: float | None
    input_score: float | None
    introduced: float | None
    apart: float | None
    explained: float | None
    heals: bool
    reasons: list[str]
    certainty: CertaintyFacts | None
    source: SourceLine | None
    called_from: SourceLine | None
    source_benchmark: SourceLine | None = None
    propagated_to: int
    perhaps: int | None
    divergent: int | None
    places: list[dict[str, int | str]]
    path: str | msgspec.UnsetType = msgspec.UNSET
    ranks: tuple[int, ...] | msgspec.UnsetType = msgspec.UNSET
    coordinates: str | msgspec.UnsetType | None = msgspec.UNSET
    axis: str | msgspec.UnsetType | None = msgspec.UNSET
    check: str | msgspec.UnsetType | None = msgspec.UNSET
    origin: str | msgspec.UnsetType | None = msgspec.UNSET


def certainty_facts(certainty: Certainty | None) -> CertaintyFacts | None:
    """A certainty with its sentence; None where the file has none."""
    if certainty is None:
        return None
    told = certainty_told(certainty)
    return CertaintyFacts(certainty.word, certainty.basis, certainty.behind, told)
