"""Writes the trends of one rank: a log that loses nothing acknowledged, turned into segments.

Once `write` has returned, the record is the operating system's: a killed process loses none of
them (a machine without power may lose the last seconds). Readers never see half a file: segments
are renamed when they are whole, the coarse ones before the full one, and only then the log goes.
"""

from __future__ import annotations

import json
import threading
import zlib
from collections.abc import Iterable, Mapping
from datetime import datetime
from io import FileIO
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from msprobe_core.format.series import (
    ALERTS_FILE,
    HEADER,
    LEVELS,
    NUMBERS,
    RUN_FILE,
    SEGMENT,
    STATISTICS,
    STEPS,
    TAG,
    TARGETS_FILE,
    VERSION,
    SegmentName,
    TrendTarget,
    attempt_folder,
    every,
    log_name,
    parse_attempt,
    parse_segment,
    rank_folder,
)
from msprobe_core.format.whole_file import written_whole
from msprobe_core.report import say

Table = NDArray[np.float32]
_SIZE = STATISTICS.index("size")


def write_run(run: Path, facts: Mapping[str, object]) -> None:
    """Write `run.json`: its version, the time with its zone, and what is known of the run."""
    run.mkdir(parents=True, exist_ok=True)
    now = datetime.now().astimezone().isoformat(timespec="seconds")
    content = {"format": "trends", "version": VERSION, "time": now, **facts}
    _replace(run / RUN_FILE, json.dumps(content, indent=1).encode())


class SeriesWriter:
    """Appends the values of one rank's targets, a table a step.

    `keep_steps`: so many of the last records stay at full resolution, earlier ones every 8th and
    64th. Raises OSError when the folder cannot be made.
    """

    def __init__(self, run: Path, rank: int, keep_steps: int | None = None) -> None:
        self.directory = _next_attempt(run / rank_folder(rank))
        self.columns = 0
        self._keep = keep_steps
        self._count = 0
        self._numbers: list[int] = []
        self._tables: list[Table] = []
        self._turning: threading.Thread | None = None
        self._targets = (self.directory / TARGETS_FILE).open("ab", buffering=0)
        self._untold = b""
        self._log = self._open_log()

    def add_targets(self, targets: Iterable[TrendTarget]) -> None:
        """Give further targets the next columns; they are written with the next step."""
        lines = [target.line() for target in targets]
        self._untold += "".join(lines).encode()
        self.columns += len(lines)

    def write(self, step: int, table: Table) -> None:
        """Append the values of a step, float32 [statistic][target]. Raises OSError.

        What could not be written leaves no trace: the next step is written as if this one had
        never been.
        """
        if table.shape[0] != len(STATISTICS) or table.shape[1] > self.columns:
            raise ValueError(
                f"a table of shape {table.shape} for {self.columns} targets and "
                f"{len(STATISTICS)} statistics; add the targets first"
            )
        if self._untold:
            _append(self._targets, self._untold)
            self._untold = b""
        body = np.ascontiguousarray(table, dtype=np.float32).tobytes()
        header = HEADER.pack(TAG, step, len(body), zlib.crc32(body))
        _append(self._log, header + body)
        self._numbers.append(step)
        self._tables.append(table)
        self._count += 1
        if len(self._tables) == SEGMENT:
            self._turn()

    def write_alert(self, alert: Mapping[str, object]) -> None:
        """Append an alert."""
        with (self.directory / ALERTS_FILE).open("a", encoding="utf-8") as file:
            file.write(json.dumps(alert) + "\n")

    def close(self) -> None:
        """End the log; the records of an unfinished segment stay in it."""
        if self._turning is not None:
            self._turning.join()
        self._log.close()
        self._targets.close()

    def leave(self) -> None:
        """Close the files as they are, in a process that was forked: they are its parent's."""
        self._log.close()
        self._targets.close()

    def _open_log(self) -> FileIO:
        return (self.directory / log_name(self._count)).open("ab", buffering=0)

    def _turn(self) -> None:
        if self._turning is not None:
            self._turning.join()
        numbers, tables = self._numbers, self._tables
        self._numbers, self._tables = [], []
        first = self._count - len(tables)
        self._log.close()
        self._log = self._open_log()
        self._turning = threading.Thread(
            target=self._turn_segment, args=(first, numbers, tables), daemon=False
        )
        self._turning.start()

    def _turn_segment(self, first: int, numbers: list[int], tables: list[Table]) -> None:
        try:
            write_segment(self.directory, first, numbers, tables)
            if self._keep is not None:
                _thin(self.directory, first + len(tables) - self._keep)
        except OSError as error:  # the log stays, so nothing is lost
            say(f"{self.directory}: {error.strerror or error}; these steps stay in the log")


def _append(file: FileIO, record: bytes) -> None:
    end = file.tell()
    written = 0
    try:
        while written < len(record):
            written += file.write(record[written:]) or 0
    except OSError:
        # Half a record would hide all that follow it from readers.
        file.truncate(end)
        file.seek(end)
        raise


def write_segment(directory: Path, first: int, numbers: list[int], tables: list[Table]) -> None:
    """Turn the records of a log into `.npy` files and remove the log. Raises OSError."""
    last = first + len(tables) - 1
    values = _stacked(tables)
    _save(directory, SegmentName(NUMBERS, first, last), np.asarray(numbers, dtype=np.int64))
    for level in LEVELS:
        _save(directory, SegmentName(every(level), first, last), _coarse(values, level))
    _save(directory, SegmentName(STEPS, first, last), values)
    (directory / log_name(first)).unlink(missing_ok=True)


def _stacked(tables: list[Table]) -> Table:
    """[statistic][target][record]; what a record did not know yet has size 0."""
    columns = max(table.shape[1] for table in tables)
    values = np.full((len(STATISTICS), columns, len(tables)), np.nan, dtype=np.float32)
    values[_SIZE] = 0
    for index, table in enumerate(tables):
        values[:, : table.shape[1], index] = table
    return values


def _coarse(values: Table, level: int) -> Table:
    """Least and largest of `level` records; NaN wins, (inf, -inf) where nothing was measured."""
    there = values[_SIZE] > 0
    grouped = (*values.shape[:2], -1, level)
    low = np.where(there, values, np.float32(np.inf)).reshape(grouped).min(-1)
    high = np.where(there, values, np.float32(-np.inf)).reshape(grouped).max(-1)
    return np.stack([low, high])


def _thin(directory: Path, before: int) -> None:
    """Remove the full segments that end before a record."""
    for path in directory.iterdir():
        name = parse_segment(path.name)
        if name is not None and name.what == STEPS and name.last < before:
            path.unlink()


def _next_attempt(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    taken = [parse_attempt(path.name) for path in folder.iterdir()]
    number = max((attempt for attempt in taken if attempt is not None), default=-1) + 1
    while True:  # a rank of another host may begin at the same moment under the same number
        directory = folder / attempt_folder(number)
        try:
            directory.mkdir()
        except FileExistsError:
            number += 1
        else:
            return directory


def _save(directory: Path, name: SegmentName, array: NDArray[np.generic]) -> None:
    hidden = directory / f".{name.what}.tmp"
    with hidden.open("wb") as file:
        np.save(file, array)
    hidden.replace(directory / str(name))


def _replace(path: Path, content: bytes) -> None:
    # Every rank writes the same facts. A process id would not keep their temporary files apart:
    # containers of several hosts have the same ones (`written_whole` draws a name).
    with written_whole(path) as beside:
        beside.write_bytes(content)
