"""Finds result files below the log folders, and turns a token back into one of them.

Nothing outside the folders is ever reached: links are resolved before the comparison.
"""

from __future__ import annotations

import base64
import binascii
import os
import re
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

SUFFIX = ".vis.db"
# The file that makes a folder one of trends, and the folders in it that are not looked into. Their
# home is the format; this module is imported by TensorBoard itself and stays light.
RUN_FILE = "run.json"
_RANK = re.compile(r"rank\d+")
_NUMBER = re.compile(r"[0-9]{1,6}")  # of a log folder; Python refuses to read thousands of digits
# Folders in which the page's builds lie until they are complete.
WORKSHOP = ".building-"
_FRESH_SECONDS = 2.0
_RESTS = 10
_LONGEST_WAIT_SECONDS = 0.5
_MOST_ENTRIES = 200_000
_HEAD = 200  # bytes in which a run's file says that it is one of trends
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


@dataclass(frozen=True, slots=True)
class TrendFolder:
    """A folder with the trends of a run; `shown` is its path below the log folder."""

    token: str
    path: Path
    shown: str
    modified: float


class LogDirs:
    """The folders that may be looked at; a scan is remembered for seconds, a slow one longer."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self.folders = tuple(folders)
        self._lock = threading.Lock()
        self._found: list[ResultFile] = []
        self._runs: list[TrendFolder] = []
        self._stale = float("-inf")

    def files(self) -> list[ResultFile]:
        """All result files, newest first."""
        with self._lock:
            began = time.monotonic()
            if began >= self._stale:
                self._found, self._runs = self._scan()
                ended = time.monotonic()
                # A slow disk is not asked more than a tenth of the time.
                self._stale = ended + max(_FRESH_SECONDS, _RESTS * (ended - began))
            return self._found

    def runs(self) -> list[TrendFolder]:
        """All folders with trends, newest first."""
        self.files()
        return self._runs

    def any(self) -> bool:
        """Whether there is anything to show at all; never waits long for a slow disk."""
        if self._found or self._runs or time.monotonic() < self._stale:
            return bool(self._found or self._runs)
        scan = threading.Thread(target=self.files, daemon=True)
        scan.start()
        scan.join(_LONGEST_WAIT_SECONDS)
        return bool(self._found or self._runs)

    def resolve(self, token: str) -> ResultFile | None:
        """The file that a token stands for; None unless it is a result file below a folder."""
        place = _decode(token)
        if place is None or place[0] >= len(self.folders):
            return None
        index, relative = place
        return _result_file(index, self.folders[index], self.folders[index] / relative)

    def resolve_run(self, token: str) -> TrendFolder | None:
        """The folder with trends that a token stands for; None unless it is one below a folder."""
        place = _decode(token)
        if place is None or place[0] >= len(self.folders):
            return None
        index, relative = place
        return _trend_folder(index, self.folders[index], self.folders[index] / relative)

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

    def _scan(self) -> tuple[list[ResultFile], list[TrendFolder]]:
        deadline = time.monotonic() + _LONGEST_SCAN_SECONDS
        files: dict[Path, ResultFile] = {}
        runs: dict[Path, TrendFolder] = {}
        for index, folder in enumerate(self.folders):
            for path in _walk(folder, deadline):
                if path.name == RUN_FILE:
                    run = _trend_folder(index, folder, path.parent)
                    if run is not None:
                        runs.setdefault(run.path, run)
                    continue
                file = _result_file(index, folder, path)
                if file is not None:
                    files.setdefault(file.path, file)
        return (
            sorted(files.values(), key=lambda file: -file.modified),
            sorted(runs.values(), key=lambda run: -run.modified),
        )


def _walk(folder: Path, deadline: float) -> Iterator[Path]:
    """Result files and those of trends at any depth; a huge or slow tree is given up rather than
    waited for, and the ranks of trends are not looked into.
    """
    left = _MOST_ENTRIES
    pending = [os.fspath(folder)]
    while pending and left > 0 and time.monotonic() < deadline:
        try:
            entries = list(os.scandir(pending.pop()))
        except OSError:
            continue
        left -= len(entries)
        trends = any(entry.name == RUN_FILE for entry in entries)
        for entry in entries:
            if entry.name.endswith(SUFFIX) or entry.name == RUN_FILE:
                yield Path(entry.path)
            elif trends and _RANK.fullmatch(entry.name):
                continue
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


def _trend_folder(index: int, folder: Path, path: Path) -> TrendFolder | None:
    real, root = os.path.realpath(path), os.path.realpath(folder)
    file = Path(real) / RUN_FILE
    if not Path(real).is_relative_to(root):
        return None
    try:
        with file.open("rb") as opened:
            if b'"trends"' not in opened.read(_HEAD):
                return None
        modified = file.stat().st_mtime
    except (OSError, ValueError):
        return None
    shown = os.path.relpath(path, folder)
    return TrendFolder(_encode(index, shown), Path(real), shown, modified)


def _encode(index: int, relative: str) -> str:
    raw = os.fsencode(f"{index}/{relative}")
    return base64.urlsafe_b64encode(raw).decode("ascii").rstrip("=")


def _decode(token: str) -> tuple[int, str] | None:
    try:
        raw = base64.urlsafe_b64decode(token.encode("ascii") + b"=" * (-len(token) % 4))
    except (binascii.Error, ValueError):
        return None
    index, slash, relative = os.fsdecode(raw).partition("/")
    usable = slash and _NUMBER.fullmatch(index) and "\0" not in relative
    return (int(index), relative) if usable else None
