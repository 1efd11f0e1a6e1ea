"""The manual pairs of a database: beside it in `<name>.mapping.json`, or in the client's session.

The server stays stateless where a folder cannot be written: the client then sends its pairs along
with every request, and they take the place of the file.
"""

from __future__ import annotations

import base64
import binascii
import os
import threading
from collections.abc import Sequence
from pathlib import Path

import msgspec
from flask import Request

from builder.errors import MappingError
from builder.match.manual_file import MappedPair, mapping_path, read_mapping, write_mapping
from tb_graph_ascend.logdirs import LogDirs, ResultFile
from tb_graph_ascend.server.errors import BadArgumentError, ConflictError
from tb_graph_ascend.server.messages import Mappings

# base64url of the JSON list of pairs.
SESSION_HEADER = "X-Manual-Pairs"
_MOST_PAIRS = 10_000
_decode_pairs = msgspec.json.Decoder(list[MappedPair]).decode


class ManualPairs:
    """Where the pairs of a database are read from and written to."""

    def __init__(self, logdirs: LogDirs, *, read_only: bool) -> None:
        self.lock = threading.Lock()
        self._logdirs = logdirs
        self._read_only = read_only

    def seen_by(self, request: Request) -> ReadPairs:
        """How a request sees the pairs of a file."""
        return ReadPairs(self._logdirs, session_pairs(request))

    def describe(self, request: Request, file: ResultFile, pairs: list[MappedPair]) -> Mappings:
        """The pairs as a message; `saved` tells whether they are, or would be, in the file."""
        folder = file.path.parent
        writable = not self._read_only and os.access(folder, os.W_OK)
        saved = writable and session_pairs(request) is None
        return Mappings(saved, mapping_path(file.path).name, pairs)

    def save(self, request: Request, file: ResultFile, pairs: list[MappedPair]) -> Mappings:
        """Write the pairs beside the database where that is possible."""
        if len(pairs) > _MOST_PAIRS:
            raise BadArgumentError(
                f"pairs: {len(pairs)} manual pairs, at most {_MOST_PAIRS} fit",
                "use a layer mapping in the build",
            )
        path = mapping_path(file.path)
        saved = session_pairs(request) is None
        if saved:
            try:
                write_mapping(path, pairs)
            except OSError:
                saved = False
        return Mappings(saved, path.name, pairs)


class ReadPairs:
    """Gives the manual pairs of a file: those of the session, else those in the mapping file."""

    def __init__(self, logdirs: LogDirs, session: list[MappedPair] | None) -> None:
        self._logdirs = logdirs
        self._session = session

    def for_reading(self, file: ResultFile) -> Sequence[MappedPair]:
        """The pairs; none where the mapping file is broken, which `strictly` reports."""
        try:
            return self.strictly(file)
        except ConflictError:
            return ()

    def strictly(self, file: ResultFile) -> list[MappedPair]:
        """The pairs; raises ConflictError for a mapping file that cannot be used."""
        if self._session is not None:
            return self._session
        path = mapping_path(file.path)
        if not path.exists():
            return []
        if self._logdirs.confine(path) is None:
            raise ConflictError(f"{path.name}: is a link to outside the log folders", _REPAIR)
        try:
            return read_mapping(path)
        except MappingError as error:
            raise ConflictError(_without_folder(str(error), path), _REPAIR) from None


_REPAIR = "repair or remove the mapping file beside the database"


def session_pairs(request: Request) -> list[MappedPair] | None:
    """The pairs that a client keeps in its session; None where it keeps none."""
    text = request.headers.get(SESSION_HEADER)
    if text is None:
        return None
    try:
        raw = base64.urlsafe_b64decode(text.encode("ascii") + b"=" * (-len(text) % 4))
        return _decode_pairs(raw)
    except (binascii.Error, ValueError) as error:
        raise BadArgumentError(
            f"{SESSION_HEADER}: {error}", "send base64url of a JSON list of pairs"
        ) from None


def _without_folder(text: str, path: Path) -> str:
    return text.replace(str(path), path.name)
