"""The messages that only the server sends or takes; what queries answer is sent as it is.

`make messages` writes them for the page.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

from builder.match.manual_file import MappedPair
from builder.reasons import PairingReason
from builder.results.records import Count, Node, Refusal, Summary
from tb_graph_ascend.view.answer import Answer, Since


class Failure(msgspec.Struct, frozen=True, omit_defaults=True):
    """Every answer that is not 2xx; `reason` says it again for pages in other languages."""

    error: str
    hint: str | None
    reason: Refusal | None = None


class DatabaseEntry(msgspec.Struct, frozen=True):
    """A result file below a log folder; `id` is an opaque token, safe in a path segment.

    `problem` and `benchmark` are the folders that were compared, where the file tells them;
    `mapped` is when its manual pairs were last saved, null where there are none.
    """

    id: str
    path: str
    size: Count
    modified: float
    error: str | None
    problem: str | None = None
    benchmark: str | None = None
    mapped: float | None = None


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


class StandingAnswer(Answer, frozen=True):
    """Where it begins; `changed_pairs` manual pairs came or went since the build that said so.

    With manual pairs laid over it the file's causes may not hold any more; `since` says where it
    begins then.
    """

    changed_pairs: Count
    since: Since | None


class SearchHits(msgspec.Struct, frozen=True):
    """A page of the nodes whose names match."""

    total: Count
    offset: Count
    hits: list[Node]


class NodeRow(msgspec.Struct, frozen=True):
    """A matched pair by its problem node, or an unmatched node; `module` is what it stands in.

    `stack` is the number of the stack of a call without a partner: one number for one stack.
    """

    step: int
    rank: int
    module: str | None
    node: Node
    partner: str | None
    stack: int | None = None


class UnknownWord(msgspec.Struct, frozen=True):
    """A word of a query that no name has, and what comes nearest to it among the names."""

    word: str
    nearest: list[str]


class NodeTable(msgspec.Struct, frozen=True):
    """A page of the nodes that fit a query.

    `searched` of `pairs` steps and ranks were asked before the time was over. Where nothing fits,
    `unknown` holds the words that no name of the step and rank has.
    """

    total: Count
    offset: Count
    rows: list[NodeRow]
    searched: Count
    pairs: Count
    unknown: list[UnknownWord] = []


class Mappings(msgspec.Struct, frozen=True):
    """The manual pairs of a database; `saved` is false where they live in the session only.

    `changed` of them came or went since the build, so the diagnosis does not know of it.
    """

    saved: bool
    file: str
    pairs: list[MappedPair]
    changed: Count


class Refused(msgspec.Struct, frozen=True):
    """A pair that could not be mapped."""

    problem: str
    benchmark: str | None
    reason: Refusal


class MappingResult(msgspec.Struct, frozen=True):
    """What a change of the mapping did: `nodes` are those whose state changed, on both sides.

    `added` and `removed` are the pairs by which the mapping changed: what takes it back.
    """

    mappings: Mappings
    nodes: list[Node]
    refused: list[Refused]
    added: list[MappedPair]
    removed: list[MappedPair]


NodeId = Annotated[int, msgspec.Meta(ge=0, le=2**53)]


class MapRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Map two unmatched nodes, in either order of clicks; `everywhere`: in all steps and ranks.

    With `folds` each is the first of a run of repeats; the runs are paired in order.
    """

    problem: NodeId
    benchmark: NodeId
    descendants: bool = False
    everywhere: bool = False
    folds: bool = False


class UnmapRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Undo the manual pair that a problem node is part of."""

    problem: NodeId


Pairs = Annotated[list[MappedPair], msgspec.Meta(max_length=10_000)]


class ChangeRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Take pairs out and put pairs in, whatever else is mapped by now: undo, redo, proposals."""

    add: Pairs = msgspec.field(default_factory=list)
    remove: Pairs = msgspec.field(default_factory=list)


class MapAllRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An empty object."""


class PairSet(msgspec.Struct, frozen=True):
    """Manual pairs that a client keeps for itself, by the name that its requests carry."""

    id: str


class Proposal(msgspec.Struct, frozen=True):
    """Unmatched modules that seem to be the same under another name, in one or more places.

    `names` are what stands below the parent on each side, numbers as N: `layers.N`, `h.N`. `pairs`
    are what mapping all of them adds; `problem` and `benchmark` are those of the first.
    """

    problem: Node
    benchmark: Node
    names: tuple[str, str]
    reasons: list[PairingReason]
    places: Count
    pairs: list[MappedPair]


class Proposals(msgspec.Struct, frozen=True):
    """Proposals for one step and rank, the surest first.

    `updates` counts what optimizers do there to parameters that the other run has under no such
    name: a rebuild pairs it by the names of the modules that are mapped.
    """

    proposals: list[Proposal]
    updates: Count


class ReplaceRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Replace all manual pairs by those of a file."""

    pairs: Pairs
