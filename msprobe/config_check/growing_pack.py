"""A pack that several ranks of a running job write to, each under a lock."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from msprobe_core.format.file_lock import locked
from msprobe_core.format.whole_file import written_whole

_RANK = re.compile(r"(?:^|/)rank(\d+)(?:/|\.json$)")


class GrowingPack:
    """Members are added at the end of the zip; replacing some writes the zip anew and renames it.

    The lock is a file beside it: the zip itself may be another file after a replacement.
    Invariant: whatever fails, as a disk that is full, leaves the zip as it was before.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def begin_run(self, members: Mapping[str, str], ranks: int) -> None:
        """Write what holds for the whole run, and drop ranks that it does not have."""

        def stays(name: str) -> bool:
            rank = _rank_of(name)
            return rank is not None and 0 < rank < ranks

        with self._locked():
            self._rewrite(stays, members)

    def begin_rank(self, rank: int) -> None:
        """Drop what an earlier run left of this rank."""
        with self._locked():
            if any(_rank_of(name) == rank for name in self._names()):
                self._rewrite(lambda name: _rank_of(name) != rank, {})

    def add(self, members: Mapping[str, str]) -> None:
        """Append members that are not there yet."""
        with (
            self._locked(),
            self._as_before_on_failure(),
            zipfile.ZipFile(self.path, "a", zipfile.ZIP_DEFLATED) as packed,
        ):
            for name, text in members.items():
                packed.writestr(name, text)

    def replace(self, members: Mapping[str, str]) -> None:
        """Write members whether they are there or not."""
        with self._locked():
            self._rewrite(lambda name: name not in members, members)

    def _names(self) -> list[str]:
        if not self.path.exists():
            return []
        with zipfile.ZipFile(self.path) as packed:
            return packed.namelist()

    def _rewrite(self, stays: Callable[[str], bool], members: Mapping[str, str]) -> None:
        with (
            written_whole(self.path) as beside,
            zipfile.ZipFile(beside, "w", zipfile.ZIP_DEFLATED) as fresh,
        ):
            for name, text in members.items():
                fresh.writestr(name, text)
            if self.path.exists():
                with zipfile.ZipFile(self.path) as packed:
                    for name in filter(stays, packed.namelist()):
                        fresh.writestr(name, packed.read(name))

    @contextmanager
    def _as_before_on_failure(self) -> Iterator[None]:
        """Put back the directory at the end of the zip, over which new members are written."""
        start, directory = 0, b""
        if self.path.exists():
            with zipfile.ZipFile(self.path) as packed:
                start = packed.start_dir
            with self.path.open("rb") as file:
                file.seek(start)
                directory = file.read()
        try:
            yield
        except BaseException:  # Ctrl-C too must leave a pack that opens
            if directory:
                _end_with(self.path, start, directory)
            else:
                self.path.unlink(missing_ok=True)
            raise

    def _locked(self) -> AbstractContextManager[bool]:
        # Ranks that all write the statistics of a large model wait for one another.
        return locked(self.path, patience=600.0)


def _end_with(path: Path, start: int, directory: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(start)
        file.write(directory)  # over what is there: needs no room
        file.truncate()


def _rank_of(name: str) -> int | None:
    match = _RANK.search(name)
    return None if match is None else int(match[1])
