"""The messages that only the server sends or takes; what queries answer is sent as it is.

The same fields stand in frontend/src/api/types.ts.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

from builder.database.records import Count, Node, Reason, Summary
from builder.match.manual_file import MappedPair


class Failure(msgspec.Struct, frozen=True):
    """Every answer that is not 2xx."""

    error: str
    hint: str | None


class DatabaseEntry(msgspec.Struct, frozen=True):
    """A result file below a log folder; `id` is an opaque token, safe in a path segment."""

    id: str
    path: str
    size: Count
    modified: float
    error: str | None


class Databases(msgspec.Struct, frozen=True):
    """All result files, newest first."""

    databases: list[DatabaseEntry]
    searched: list[str]
    read_only: bool


class DatabaseAnswer(Summary, frozen=True):
    """A database as a whole.

    `writable`: it takes manual pairs; a file that another tool wrote or a read-only server
    (`read_only`) takes none.
    """

    id: str
    path: str
    writable: bool
    read_only: bool


class SearchHits(msgspec.Struct, frozen=True):
    """A page of the nodes whose names match."""

    total: Count
    offset: Count
    hits: list[Node]


class Mappings(msgspec.Struct, frozen=True):
    """The manual pairs of a database; `saved` is false where they live in the session only."""

    saved: bool
    file: str
    pairs: list[MappedPair]


class Refused(msgspec.Struct, frozen=True):
    """A pair that could not be mapped."""

    problem: str
    benchmark: str | None
    reason: Reason


class MappingResult(msgspec.Struct, frozen=True):
    """What a change of the mapping did: `nodes` are those whose state changed, on both sides."""

    mappings: Mappings
    nodes: list[Node]
    refused: list[Refused]


NodeId = Annotated[int, msgspec.Meta(ge=0, le=2**53)]


class MapRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Map two unmatched nodes, in either order of clicks; `everywhere`: in all steps and ranks."""

    problem: NodeId
    benchmark: NodeId
    descendants: bool = False
    everywhere: bool = False


class UnmapRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Undo the manual pair that a problem node is part of."""

    problem: NodeId


class ReplaceRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Replace all manual pairs: undo, redo, import."""

    pairs: Annotated[list[MappedPair], msgspec.Meta(max_length=10_000)]
