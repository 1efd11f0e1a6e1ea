"""Holds the result files that are open: each once, whatever the number of requests and threads.

A file that is replaced gets another version and is opened anew.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from builder.database.legacy import LegacyDatabase
from builder.database.node_filter import NodeFilter
from builder.database.opening import DatabaseError, format_of
from builder.database.pair_index import PairIndex
from builder.database.queries import ResultDatabase
from builder.database.records import NodeList
from builder.match.manual_file import MappedPair
from tb_graph_ascend.logdirs import LogDirs, ResultFile
from tb_graph_ascend.server.cache import Cache
from tb_graph_ascend.server.errors import NotFoundError
from tb_graph_ascend.server.messages import DatabaseEntry
from tb_graph_ascend.server.overlay import Overlay, lay_over
from tb_graph_ascend.server.picture import Picture

_MOST_OPEN = 16
_MOST_OVERLAYS = 32
_MOST_INDEXES = 4
_MOST_PICTURES = 64
_MOST_STATES = 10_000


AnyDatabase: TypeAlias = ResultDatabase | LegacyDatabase


@dataclass(frozen=True, slots=True)
class OpenDatabase:
    """A result file that was asked for, seen through its manual pairs."""

    file: ResultFile
    database: AnyDatabase
    overlay: Overlay

    @property
    def writable(self) -> bool:
        """Whether manual pairs can lie beside it."""
        return isinstance(self.database, ResultDatabase)


class Library:
    """The result files below the log folders."""

    def __init__(self, logdirs: LogDirs) -> None:
        self.logdirs = logdirs
        self._open: Cache[AnyDatabase] = Cache(_MOST_OPEN, lambda old: old.close())
        self._overlays: Cache[Overlay] = Cache(_MOST_OVERLAYS)
        self._indexes: Cache[PairIndex] = Cache(_MOST_INDEXES)
        self.pictures: Cache[Picture] = Cache(_MOST_PICTURES)
        self._errors: Cache[str | None] = Cache(_MOST_STATES)

    def entries(self) -> list[DatabaseEntry]:
        """All result files, newest first, each with the reason why it cannot be opened if so."""
        return [
            DatabaseEntry(
                id=file.token,
                path=file.shown,
                size=file.size,
                modified=file.modified,
                error=self._errors.get(file.version, lambda file=file: _error(file)),  # type: ignore[misc]
            )
            for file in self.logdirs.files()
        ]

    def file(self, token: str) -> ResultFile:
        """The file that a token stands for; raises NotFoundError."""
        found = self.logdirs.resolve(token)
        if found is None:
            raise NotFoundError(
                f"no result file {token[:100]!r} below the log folders",
                "reload the list of databases",
            )
        return found

    def open(self, token: str, pairs: Callable[[ResultFile], Sequence[MappedPair]]) -> OpenDatabase:
        """A database through the manual pairs that `pairs` gives for it."""
        file = self.file(token)
        bare = self._open.get(file.version, lambda: _open(file))
        if isinstance(bare, LegacyDatabase):
            return OpenDatabase(file, bare, Overlay())
        return self.seen_through(OpenDatabase(file, bare, Overlay()), pairs(file))

    def seen_through(self, opened: OpenDatabase, pairs: Sequence[MappedPair]) -> OpenDatabase:
        """The same database through other pairs; only one of our own takes any."""
        file, bare = opened.file, opened.database
        assert isinstance(bare, ResultDatabase)
        overlay = self._overlays.get((file.version, tuple(pairs)), lambda: lay_over(bare, pairs))
        return OpenDatabase(file, bare.with_patches(overlay.patches), overlay)

    def index(self, opened: OpenDatabase, step: int, rank: int) -> PairIndex:
        """All nodes of a pair, ready to be searched and listed."""
        key = (opened.file.version, step, rank)
        return self._indexes.get(key, lambda: opened.database.pair_index(step, rank))

    def nodes(
        self,
        opened: OpenDatabase,
        step: int,
        rank: int,
        wanted: NodeFilter,
        offset: int,
        limit: int,
    ) -> NodeList:
        """A page of the nodes of a pair that a filter lets through."""
        database = opened.database
        threshold = database.threshold if database.comparison else None
        index = self.index(opened, step, rank)
        ids = index.select(wanted, opened.overlay.patches, threshold)
        page = ids[offset : offset + limit].tolist()
        return NodeList(len(ids), offset, database.nodes_by_id(page))


def _open(file: ResultFile) -> AnyDatabase:
    if format_of(file.path) == "msprobe":
        return LegacyDatabase(file.path)
    return ResultDatabase(file.path)


def _error(file: ResultFile) -> str | None:
    try:
        format_of(file.path)
    except DatabaseError as error:
        return str(error)
    return None
