"""The manual pairs of a database: beside it in `<name>.mapping.json`, or in the client's session.

They are all that a rebuild shall know: those that the result was built with, until somebody changes
them, and from then on what the mapping file holds.

The server stays stateless where a folder cannot be written: the client keeps its pairs, lays them
down here once under a name made of their content, and its requests carry that name. A server that
knows the name no more says so, and the client lays them down again.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import msgspec
from flask import Request

from builder.errors import MappingError
from builder.match.manual_file import (
    MappedPair,
    changing,
    mapping_path,
    read_mapping,
    write_mapping,
)
from tb_graph_ascend.logdirs import LogDirs, ResultFile
from tb_graph_ascend.server.errors import BadArgumentError, ConflictError, PreconditionError
from tb_graph_ascend.server.messages import Mappings

# The name of a set that was laid down.
SESSION_HEADER = "X-Manual-Pairs"
_MOST_PAIRS = 10_000
_MOST_SETS = 256
# Of all sets as they are sent. In memory they take twice as much.
_MOST_BYTES = 32 * 2**20


# The pairs that a result was built with.
Built = Sequence[MappedPair]


def changed(pairs: Sequence[MappedPair], built: Built) -> int:
    """How many pairs came or went since the build, whose diagnosis does not know of it."""
    return len(set(pairs) ^ set(built))


class PairSets:
    """Sets of pairs by names that are made of their content; the ones used last are kept.

    The last one is kept however large it is.
    """

    def __init__(self, most_bytes: int = _MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._sizes: dict[str, int] = {}
        self._held = 0
        self._kept: OrderedDict[str, list[MappedPair]] = OrderedDict()
        self._lock = threading.Lock()

    def keep(self, pairs: list[MappedPair]) -> str:
        """The name of a set."""
        content = msgspec.json.encode(pairs)
        name = hashlib.blake2b(content, digest_size=16).hexdigest()
        with self._lock:
            self._held += len(content) - self._sizes.get(name, 0)
            self._kept[name], self._sizes[name] = pairs, len(content)
            self._kept.move_to_end(name)
            while len(self._kept) > 1 and self._are_too_many():
                oldest, _ = self._kept.popitem(last=False)
                self._held -= self._sizes.pop(oldest)
        return name

    def _are_too_many(self) -> bool:
        return len(self._kept) > _MOST_SETS or self._held > self._most_bytes

    def find(self, name: str) -> list[MappedPair]:
        """The set of a name; raises PreconditionError where it is not known any more."""
        with self._lock:
            pairs = self._kept.get(name)
            if pairs is not None:
                self._kept.move_to_end(name)
        if pairs is None:
            raise PreconditionError(
                f"{SESSION_HEADER}: no set {name[:40]!r} of pairs", "send it to pair-sets again"
            )
        return pairs


class ManualPairs:
    """Where the pairs of a database are read from and written to."""

    def __init__(self, logdirs: LogDirs, *, read_only: bool) -> None:
        self._lock = threading.Lock()
        self.sets = PairSets()
        self._logdirs = logdirs
        self._read_only = read_only

    @contextmanager
    def changing(self, request: Request, db: str) -> Iterator[None]:
        """Hold off everybody else who would change the pairs of a file, in other processes, too.

        Raises ConflictError where another process does not let go.
        """
        with self._lock:
            file = self._logdirs.resolve(db)
            if file is None or self._read_only or SESSION_HEADER in request.headers:
                yield  # of a session: nothing is written
                return
            path = mapping_path(file.path)
            with ExitStack() as held:
                try:
                    held.enter_context(changing(path))
                except MappingError as error:
                    raise ConflictError(_without_folder(str(error), path), "try again") from None
                yield

    def seen_by(self, request: Request) -> ReadPairs:
        """How a request sees the pairs of a file."""
        name = request.headers.get(SESSION_HEADER)
        session = self.sets.find(name) if name is not None else None
        return ReadPairs(self._logdirs, session)

    def describe(
        self, request: Request, file: ResultFile, pairs: list[MappedPair], built: Built
    ) -> Mappings:
        """The pairs as a message; `saved` tells whether they are, or would be, in the file."""
        folder = file.path.parent
        writable = not self._read_only and os.access(folder, os.W_OK)
        saved = writable and SESSION_HEADER not in request.headers
        return Mappings(saved, mapping_path(file.path).name, pairs, changed(pairs, built))

    def save(
        self, request: Request, file: ResultFile, pairs: list[MappedPair], built: Built
    ) -> Mappings:
        """Write the pairs beside the database where that is possible."""
        if len(pairs) > _MOST_PAIRS:
            raise BadArgumentError(
                f"pairs: {len(pairs)} manual pairs, at most {_MOST_PAIRS} fit",
                "use a layer mapping in the build",
            )
        path = mapping_path(file.path)
        saved = SESSION_HEADER not in request.headers
        if saved:
            try:
                write_mapping(path, pairs)
            except OSError:
                saved = False
        return Mappings(saved, path.name, pairs, changed(pairs, built))


class ReadPairs:
    """Gives the manual pairs of a file: those of the session, else those in the mapping file."""

    def __init__(self, logdirs: LogDirs, session: list[MappedPair] | None) -> None:
        self._logdirs = logdirs
        self._session = session

    def for_reading(self, file: ResultFile, built: Built) -> Sequence[MappedPair]:
        """The pairs; none where the mapping file is broken, which `strictly` reports."""
        try:
            return self.strictly(file, built)
        except ConflictError:
            return ()

    def strictly(self, file: ResultFile, built: Built) -> list[MappedPair]:
        """The pairs; raises ConflictError for a mapping file that cannot be used."""
        if self._session is not None:
            return self._session
        path = mapping_path(file.path)
        if not path.exists():
            return list(built)
        if self._logdirs.confine(path) is None:
            raise ConflictError(f"{path.name}: is a link to outside the log folders", _REPAIR)
        try:
            return read_mapping(path)
        except MappingError as error:
            raise ConflictError(_without_folder(str(error), path), _REPAIR) from None


_REPAIR = "repair or remove the mapping file beside the database"


def _without_folder(text: str, path: Path) -> str:
    return text.replace(str(path), path.name)
