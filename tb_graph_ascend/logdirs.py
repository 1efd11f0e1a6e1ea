"""Finds result files below the log folders, and turns a token back into one of them.

Nothing outside the folders is ever reached: links are resolved before the comparison.
"""

from __future__ import annotations

import base64
import binascii
import os
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

SUFFIX = ".vis.db"
# Folders in which the page's builds lie until they are complete.
WORKSHOP = ".building-"
_FRESH_SECONDS = 2.0
_RESTS = 10
_LONGEST_WAIT_SECONDS = 0.5
_MOST_ENTRIES = 200_000
_LONGEST_SCAN_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class ResultFile:
    """A result file; `shown` is its path below the log folder, for people."""

    token: str
    path: Path
    shown: str
    size: int
    modified: float

    @property
    def version(self) -> tuple[Path, float, int]:
        """Changes when the file is replaced."""
        return self.path, self.modified, self.size


class LogDirs:
    """The folders that may be looked at; a scan is remembered for seconds, a slow one longer."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self.folders = tuple(folders)
        self._lock = threading.Lock()
        self._found: list[ResultFile] = []
        self._stale = float("-inf")

    def files(self) -> list[ResultFile]:
        """All result files, newest first."""
        with self._lock:
            began = time.monotonic()
            if began >= self._stale:
                self._found = sorted(self._scan(), key=lambda f: -f.modified)
                ended = time.monotonic()
                # A slow disk is not asked more than a tenth of the time.
                self._stale = ended + max(_FRESH_SECONDS, _RESTS * (ended - began))
            return self._found

    def any(self) -> bool:
        """Whether there is a result file at all; never waits long for a slow disk."""
        if self._found or time.monotonic() < self._stale:
            return bool(self._found)
        scan = threading.Thread(target=self.files, daemon=True)
        scan.start()
        scan.join(_LONGEST_WAIT_SECONDS)
        return bool(self._found)

    def resolve(self, token: str) -> ResultFile | None:
        """The file that a token stands for; None unless it is a result file below a folder."""
        place = _decode(token)
        if place is None or place[0] >= len(self.folders):
            return None
        index, relative = place
        return _result_file(index, self.folders[index], self.folders[index] / relative)

    def find(self, path: Path) -> ResultFile | None:
        """The result file at a path, if it is one below the folders."""
        for index, folder in enumerate(self.folders):
            if Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder)):
                relative = os.path.relpath(os.path.realpath(path), os.path.realpath(folder))
                return _result_file(index, folder, folder / relative)
        return None

    def confine(self, path: Path) -> Path | None:
        """The real path of something inside the folders; None for everything outside."""
        real = Path(os.path.realpath(path))
        inside = any(real.is_relative_to(os.path.realpath(folder)) for folder in self.folders)
        return real if inside else None

    def _scan(self) -> Iterator[ResultFile]:
        deadline = time.monotonic() + _LONGEST_SCAN_SECONDS
        seen: set[Path] = set()
        for index, folder in enumerate(self.folders):
            for path in _walk(folder, deadline):
                file = _result_file(index, folder, path)
                if file is not None and file.path not in seen:
                    seen.add(file.path)
                    yield file


def _walk(folder: Path, deadline: float) -> Iterator[Path]:
    """Result files at any depth; a huge or slow tree is given up rather than waited for."""
    left = _MOST_ENTRIES
    pending = [os.fspath(folder)]
    while pending and left > 0 and time.monotonic() < deadline:
        try:
            entries = list(os.scandir(pending.pop()))
        except OSError:
            continue
        left -= len(entries)
        for entry in entries:
            if entry.name.endswith(SUFFIX):
                yield Path(entry.path)
            elif entry.is_dir(follow_symlinks=False) and not entry.name.startswith(WORKSHOP):
                pending.append(entry.path)


def _result_file(index: int, folder: Path, path: Path) -> ResultFile | None:
    real, root = os.path.realpath(path), os.path.realpath(folder)
    if not path.name.endswith(SUFFIX) or not Path(real).is_relative_to(root):
        return None
    try:
        state = Path(real).stat()
    except (OSError, ValueError):
        return None
    if not Path(real).is_file():
        return None
    shown = os.path.relpath(path, folder)
    token = _encode(index, shown)
    return ResultFile(token, Path(real), shown, state.st_size, state.st_mtime)


def _encode(index: int, relative: str) -> str:
    raw = os.fsencode(f"{index}/{relative}")
    return base64.urlsafe_b64encode(raw).decode("ascii").rstrip("=")


def _decode(token: str) -> tuple[int, str] | None:
    try:
        raw = base64.urlsafe_b64decode(token.encode("ascii") + b"=" * (-len(token) % 4))
    except (binascii.Error, ValueError):
        return None
    index, slash, relative = os.fsdecode(raw).partition("/")
    usable = slash and index.isascii() and index.isdecimal() and "\0" not in relative
    return (int(index), relative) if usable else None
