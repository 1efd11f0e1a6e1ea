"""One stretch of records as a reader sees it: a full segment, a thinned one, or the end of the log.

A file may vanish between being listed and being read, because its records were turned meanwhile;
that is FileNotFoundError here, and the reader lists again.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from msprobe_core.format.regular_file import open_regular, require_regular
from msprobe_core.format.series import (
    HEADER,
    LEVELS,
    NUMBERS,
    STATISTICS,
    STEPS,
    TAG,
    SegmentName,
    every,
)

_PAGE = 4096
_SPARSE = 64
"""Rows that are asked for one by one; more are asked for as the stretch that holds them all."""
Values = NDArray[np.float32]
Steps = NDArray[np.int64]
Columns = NDArray[np.intp]
_SIZE = STATISTICS.index("size")


class Piece(Protocol):
    """A stretch of records."""

    @property
    def steps(self) -> Steps:
        """The number of each record that it can show alone; of thinned ones each eighth."""

    def values(self, statistic: int, columns: Columns) -> Values:
        """[column][step]; -inf where a column was not measured."""

    def largest(self, statistic: int, columns: Columns, level: int) -> Values | None:
        """[column][group of `level` records]; None where there are no such groups."""

    def expect(self, statistic: int, columns: Columns, level: int) -> None:
        """Let the system fetch what `values` (level 1) or `largest` will read, without waiting."""


@dataclass(frozen=True)
class Segment:
    """256 records in files; `full` is whether they are there one by one."""

    directory: Path
    first: int
    last: int
    full: bool

    @cached_property
    def all_steps(self) -> Steps:
        """The number of each record."""
        return np.asarray(self._loaded(NUMBERS))

    @property
    def steps(self) -> Steps:
        return self.all_steps if self.full else self.all_steps[LEVELS[0] - 1 :: LEVELS[0]]

    def values(self, statistic: int, columns: Columns) -> Values:
        if not self.full:
            found = self.largest(statistic, columns, LEVELS[0])
            assert found is not None
            return found
        stored = self._mapped(STEPS)
        return _measured(_taken(stored[statistic], columns), _taken(stored[_SIZE], columns) > 0)

    def largest(self, statistic: int, columns: Columns, level: int) -> Values | None:
        return _taken(self._mapped(every(level))[1, statistic], columns)

    def expect_steps(self) -> None:
        """Let the system fetch the number of each record, without waiting."""
        read_ahead(self._path(NUMBERS), [(0, _PAGE)])

    def expect(self, statistic: int, columns: Columns, level: int) -> None:
        if level == 1 and self.full:
            self._fetch(STEPS, self.last - self.first + 1, (statistic, _SIZE), columns)
        else:
            level = max(level, LEVELS[0])
            groups = (self.last - self.first + 1) // level
            self._fetch(every(level), groups, (len(STATISTICS) + statistic,), columns)

    def _fetch(self, what: str, row: int, blocks: tuple[int, ...], columns: Columns) -> None:
        """Ask for the rows of `columns`, each of `row` float32, in blocks of all known columns."""
        path, width = self._path(what), 4 * row
        of_file = len(STATISTICS) * (1 if what == STEPS else 2)
        known = path.stat().st_size // (of_file * width)
        rows = columns[(columns >= 0) & (columns < known)]
        if not len(rows):
            return
        if len(rows) > _SPARSE:
            spans = [(int(rows.min()), int(rows.max() - rows.min()) + 1)]
        else:
            spans = [(int(column), 1) for column in rows]
        places = [(b * known + first, count) for b in blocks for first, count in spans]
        read_ahead(path, [(0, 1), *((at * width, count * width) for at, count in places)])

    def _mapped(self, what: str) -> Values:
        """A file of it, opened with its first use: no other was asked for beforehand."""
        if what not in self._maps:
            self._maps[what] = self._loaded(what, "r")
        return self._maps[what]

    def _loaded(self, what: str, mode: Literal["r"] | None = None) -> Values:
        path = self._path(what)
        require_regular(path)
        return np.asanyarray(np.load(path, mmap_mode=mode))

    @cached_property
    def _maps(self) -> dict[str, Values]:
        return {}

    def _path(self, what: str) -> Path:
        return self.directory / str(SegmentName(what, self.first, self.last))


@dataclass(frozen=True, eq=False)
class LogTail:
    """The records of a log up to a moment; `read` is how many bytes they are."""

    path: Path
    first: int
    numbers: tuple[int, ...] = ()
    tables: tuple[Values, ...] = ()
    read: int = 0

    def followed(self) -> LogTail:
        """With what was appended since; a record that is not whole yet is left for the next time.

        Itself where nothing was.
        """
        with os.fdopen(open_regular(self.path), "rb") as file:
            file.seek(self.read)
            content = file.read()
        numbers, tables, at = list(self.numbers), list(self.tables), 0
        while (record := _record(content, at)) is not None:
            step, table, at = record
            numbers.append(step)
            tables.append(table)
        return (
            LogTail(self.path, self.first, tuple(numbers), tuple(tables), self.read + at)
            if at
            else self
        )

    @property
    def steps(self) -> Steps:
        return np.asarray(self.numbers, dtype=np.int64)

    def values(self, statistic: int, columns: Columns) -> Values:
        found = np.full((len(columns), len(self.tables)), -np.inf, dtype=np.float32)
        for index, table in enumerate(self.tables):
            known = (columns >= 0) & (columns < table.shape[1])
            chosen = columns[known]
            there = table[_SIZE, chosen] > 0
            found[known, index] = _measured(table[statistic, chosen], there)
        return found

    def largest(self, statistic: int, columns: Columns, level: int) -> Values | None:
        del statistic, columns, level
        return None

    def expect(self, statistic: int, columns: Columns, level: int) -> None:
        """Nothing: its records are in memory."""


def read_ahead(path: Path, spans: Iterable[tuple[int, int]]) -> None:
    """Let the system begin to fetch (offset, bytes) of a file; a hint, which not every one knows.

    Offsets count from the array's begin, which is less than a page into the file. Files that were
    just read one after the other wait for the disk once each; asked for beforehand, once in all.
    """
    if not hasattr(os, "posix_fadvise"):
        return
    descriptor = open_regular(path)
    try:
        for offset, length in spans:
            os.posix_fadvise(descriptor, offset, length + _PAGE, os.POSIX_FADV_WILLNEED)
    finally:
        os.close(descriptor)


def _record(content: bytes, at: int) -> tuple[int, Values, int] | None:
    """The step, table and end of the record at a place; None when it is not whole."""
    if at + HEADER.size > len(content):
        return None
    tag, step, length, checksum = HEADER.unpack_from(content, at)
    body = content[at + HEADER.size : at + HEADER.size + length]
    if tag != TAG or len(body) < length or zlib.crc32(body) != checksum:
        return None
    table = np.frombuffer(body, dtype=np.float32).reshape(len(STATISTICS), -1)
    return step, table, at + HEADER.size + length


def _measured(values: Values, there: NDArray[np.bool_]) -> Values:
    """Values with -inf where nothing was measured; one that is -inf itself is NaN, as little finite
    and there.
    """
    shown = np.where(values == -np.inf, np.float32(np.nan), values)
    return np.where(there, shown, np.float32(-np.inf))


def _taken(stored: Values, columns: Columns) -> Values:
    """Rows of a segment, -inf for the columns that it did not know (or that are -1)."""
    known = (columns >= 0) & (columns < stored.shape[0])
    if known.all() and len(columns) == stored.shape[0] and (np.diff(columns) == 1).all():
        return np.asarray(stored)
    found = np.full((len(columns), stored.shape[1]), -np.inf, dtype=np.float32)
    found[known] = stored[columns[known]]
    return found
