"""Holds the result files that are open: each once, whatever the number of requests and threads.

A file that is replaced gets another version and is opened anew.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from msgspec.structs import asdict

from builder.errors import DatabaseError
from builder.match.manual_file import MappedPair, mapping_path
from builder.results.cache import Cache
from builder.results.certainty import compared_pairs
from builder.results.database import ResultDatabase
from builder.results.followers.standing import without_pairs
from builder.results.open_results import open_results
from builder.results.opening import runs_of
from builder.results.reading import Results
from builder.results.records import NodeList
from tb_graph_ascend.logdirs import LogDirs, ResultFile
from tb_graph_ascend.server.drawing import Picture
from tb_graph_ascend.server.errors import NotFoundError
from tb_graph_ascend.server.manual_pairs import Built, changed
from tb_graph_ascend.server.messages import DatabaseEntry, StandingAnswer
from tb_graph_ascend.server.overlay import Overlay, lay_over
from tb_graph_ascend.view.answer import Answer, Since, answer, since_mapping
from tb_graph_ascend.view.diff.index import DiffIndex, diff_index
from tb_graph_ascend.view.diff.profile import Profile, with_norms
from tb_graph_ascend.view.search.node_filter import NodeFilter
from tb_graph_ascend.view.search.node_index import PairIndex, pair_index

# The manual pairs of a file that was built with some.
PairsOf = Callable[[ResultFile, Built], Sequence[MappedPair]]

_MOST_OPEN = 16
_MOST_SEEN = 32
_MOST_INDEXES = 4
_MOST_DIFFS = 4
_MOST_PICTURES = 64
_MOST_STATES = 10_000


@dataclass(frozen=True, slots=True)
class OpenDatabase:
    """A result file that was asked for, seen through its manual pairs.

    `pairs` are all of them, those that the file was built with too.
    """

    file: ResultFile
    database: Results
    overlay: Overlay
    pairs: tuple[MappedPair, ...] = ()

    @property
    def built(self) -> tuple[MappedPair, ...]:
        """The manual pairs that the file was built with."""
        bare = self.database
        return (
            bare.stored.manual_pairs if isinstance(bare, ResultDatabase) and self.writable else ()
        )

    @property
    def writable(self) -> bool:
        """Whether manual pairs can lie beside it."""
        return isinstance(self.database, ResultDatabase) and not self.database.stored.is_split


class Library:
    """The result files below the log folders."""

    def __init__(self, logdirs: LogDirs) -> None:
        self.logdirs = logdirs
        self._open: Cache[Results] = Cache(_MOST_OPEN, lambda old: old.close())
        self._seen: Cache[OpenDatabase] = Cache(_MOST_SEEN)
        self._indexes: Cache[PairIndex] = Cache(_MOST_INDEXES)
        self._diffs: Cache[DiffIndex] = Cache(_MOST_DIFFS)
        self._profiles: Cache[Profile] = Cache(_MOST_DIFFS)
        self.pictures: Cache[Picture] = Cache(_MOST_PICTURES)
        self._answers: Cache[StandingAnswer] = Cache(_MOST_OPEN)
        self._headers: Cache[_Header] = Cache(_MOST_STATES)

    def entries(self) -> list[DatabaseEntry]:
        """All result files, newest first, each with the reason why it cannot be opened if so."""
        return [self._entry(file) for file in self.logdirs.files()]

    def _entry(self, file: ResultFile) -> DatabaseEntry:
        header = self._headers.get(file.version, lambda: _header(file))
        return DatabaseEntry(
            id=file.token,
            path=file.shown,
            size=file.size,
            modified=file.modified,
            error=header.error,
            problem=header.problem,
            benchmark=header.benchmark,
            mapped=_mapped(file),
        )

    def file(self, token: str) -> ResultFile:
        """The file that a token stands for; raises NotFoundError."""
        file = self.logdirs.resolve(token)
        if file is None:
            raise NotFoundError(
                f"no result file {token[:100]!r} below the log folders",
                "reload the list of databases",
            )
        return file

    def open(self, token: str, pairs: PairsOf) -> OpenDatabase:
        """A database through the manual pairs that `pairs` gives for it."""
        file = self.file(token)
        bare = self._open.get(file.version, lambda: open_results(file.path))
        opened = OpenDatabase(file, bare, Overlay())
        if not opened.writable:
            return opened
        return self.seen_through(opened, pairs(file, opened.built))

    def seen_through(self, opened: OpenDatabase, pairs: Sequence[MappedPair]) -> OpenDatabase:
        """The same database through other pairs; only one of our own takes any."""
        file, bare = opened.file, opened.database
        assert isinstance(bare, ResultDatabase)

        def look() -> OpenDatabase:
            overlay = lay_over(bare, pairs)
            return OpenDatabase(file, bare.with_patches(overlay.patches), overlay, tuple(pairs))

        return self._seen.get((file.version, tuple(pairs)), look)

    def answer(self, opened: OpenDatabase) -> StandingAnswer:
        """Where it begins; kept, for it reads the stacks of all causes."""
        key = (opened.file.version, opened.pairs)

        def ask() -> StandingAnswer:
            database = opened.database
            said = answer(database, without_pairs(database))
            return StandingAnswer(
                **asdict(said),
                changed_pairs=changed(opened.pairs, opened.built),
                since=self._since(opened, said) if database.patches.nodes else None,
            )

        return self._answers.get(key, ask)

    def _since(self, opened: OpenDatabase, said: Answer) -> Since | None:
        """Where it begins as manual pairs have it.

        At the first cause where that stands, else in the first step and rank that differs.
        """
        database, first = opened.database, next(iter(said.causes), None)
        if first is not None:
            finding = first.finding
            rows = self.diff(opened, finding.step, finding.rank)
            if finding.node.id in rows.cause_scores:
                return since_mapping(database, rows.cause_scores, finding.step, finding.rank)
        nowhere: Since | None = None
        for pair in compared_pairs(database)[:_MOST_DIFFS]:
            rows = self.diff(opened, pair.step, pair.rank)
            found = since_mapping(database, rows.cause_scores, pair.step, pair.rank)
            if found.node is not None:
                return found
            nowhere = nowhere or found
        return nowhere

    def index(self, opened: OpenDatabase, step: int, rank: int) -> PairIndex:
        """All nodes of a pair, ready to be searched and listed."""
        key = (opened.file.version, step, rank)
        return self._indexes.get(key, lambda: pair_index(opened.database, step, rank))

    def diff(self, opened: OpenDatabase, step: int, rank: int) -> DiffIndex:
        """A pair as one list of rows, seen through its manual pairs."""
        key = (opened.file.version, opened.pairs, step, rank)
        return self._diffs.get(key, lambda: diff_index(opened.database, step, rank))

    def profile(self, opened: OpenDatabase, step: int, rank: int) -> Profile:
        """The strip of a pair; that of a single graph is kept, for it reads the norms of all."""
        index = self.diff(opened, step, rank)
        if opened.database.comparison:
            return index.profile
        key = (opened.file.version, step, rank)
        return self._profiles.get(
            key, lambda: with_norms(index.profile, index.rows, opened.database)
        )

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


@dataclass(frozen=True, slots=True)
class _Header:
    """What a list says of a file: why it cannot be opened, or what it compares."""

    error: str | None = None
    problem: str | None = None
    benchmark: str | None = None


def _header(file: ResultFile) -> _Header:
    try:
        problem, benchmark = runs_of(file.path)
    except DatabaseError as error:
        return _Header(str(error))
    return _Header(None, problem, benchmark)


def _mapped(file: ResultFile) -> float | None:
    try:
        return mapping_path(file.path).stat().st_mtime
    except OSError:
        return None
