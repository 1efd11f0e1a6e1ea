"""The trends of one rank over all starts of its training, read while they grow.

A start from step k supersedes what earlier starts wrote from k on: the run was taken back there.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from builder.series.pieces import Columns, LogTail, Piece, Segment, Steps, Values
from msprobe_core.format.alerts import Alert
from msprobe_core.format.bounded import parse_json
from msprobe_core.format.regular_file import open_regular
from msprobe_core.format.series import (
    ALERTS_FILE,
    NUMBERS,
    STATISTICS,
    STEPS,
    TARGETS_FILE,
    TrendTarget,
    attempt_folder,
    log_name,
    parse_attempt,
    parse_log,
    parse_segment,
    parse_targets,
)

_TRIES = 3
"""How often files may vanish while they are listed: a segment is turned once in 256 steps."""


class Attempt:
    """One start of the training on one rank, as it was at one moment."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.targets: list[TrendTarget] = []
        self.pieces: list[Piece] = []
        self._told = 0
        self._names: frozenset[str] = frozenset()
        # Turned files never change, so that all moments share what is known of them.
        self._segments: dict[tuple[int, bool], Segment] = {}
        self._tails: dict[int, LogTail] = {}

    def refreshed(self) -> Attempt:
        """The attempt as it is now; itself where nothing was written since. Raises OSError."""
        for attempt in range(_TRIES):
            try:
                return self._look()
            except FileNotFoundError:
                if attempt == _TRIES - 1:
                    raise
        return self

    def alerts(self) -> list[Alert]:
        """The alerts so far; a line that is still being written is left out."""
        path = self.directory / ALERTS_FILE
        if not path.exists():
            return []
        with os.fdopen(open_regular(path), encoding="utf-8") as file:
            return [Alert.of(parse_json(line)) for line in file if line.endswith("\n")]

    def _look(self) -> Attempt:
        names = frozenset(path.name for path in self.directory.iterdir())
        found = [name for name in map(parse_segment, names) if name is not None]
        full = {name.first for name in found if name.what == STEPS}
        # Numbers are written first, the full segment last: in between the log is still there.
        logs = {first for first in map(parse_log, names) if first is not None} - full
        tails = {first: self._tail(first).followed() for first in logs}
        told, targets = self._targets()
        if names == self._names and told == self._told and tails == self._tails:
            return self
        later = copy(self)
        later._names, later._tails, later._told, later.targets = names, tails, told, targets
        pieces: dict[int, Piece] = {
            name.first: self._segment(name.first, name.last, name.first in full)
            for name in found
            if name.what == NUMBERS and name.first not in logs
        }
        pieces.update(tails)
        later.pieces = [pieces[first] for first in sorted(pieces)]
        return later

    def _targets(self) -> tuple[int, list[TrendTarget]]:
        """How many bytes of their file were read, and the targets; it only grows."""
        with os.fdopen(open_regular(self.directory / TARGETS_FILE), "rb") as file:
            file.seek(self._told)
            content = file.read()
        whole = content[: content.rfind(b"\n") + 1]
        if not whole:
            return self._told, self.targets
        new = parse_targets(whole.decode().splitlines(keepends=True))
        return self._told + len(whole), [*self.targets, *new]

    def _tail(self, first: int) -> LogTail:
        return self._tails.get(first) or LogTail(self.directory / log_name(first), first)

    def _segment(self, first: int, last: int, full: bool) -> Segment:
        key = (first, full)
        if key not in self._segments:
            self._segments[key] = Segment(self.directory, first, last, full)
            self._segments[key].expect_steps()
        return self._segments[key]


@dataclass(frozen=True, slots=True)
class Stretch:
    """A piece of an attempt, up to where a later attempt takes over."""

    attempt: Attempt
    piece: Piece
    keep: int
    """How many of its steps count."""


class RankSeries:
    """All attempts of a rank as one series, as it was at one moment."""

    def __init__(self, rank: int, directory: Path) -> None:
        self.rank, self.directory = rank, directory
        self.targets: list[TrendTarget] = []
        self.steps: Steps = np.zeros(0, dtype=np.int64)
        """The numbers of all steps that can be shown one by one, ascending."""
        self._attempts: dict[int, Attempt] = {}
        self._stretches: list[Stretch] = []
        self._columns: dict[Path, dict[tuple[str, str], int]] = {}

    def refreshed(self) -> RankSeries:
        """The series as it is now; itself where nothing was written since. Raises OSError."""
        numbers = [parse_attempt(path.name) for path in self.directory.iterdir()]
        attempts = {
            number: self._attempt(number).refreshed()
            for number in sorted(number for number in numbers if number is not None)
        }
        if attempts == self._attempts:
            return self
        later = copy(self)
        later._attempts = attempts
        later._stretches = _in_force(list(attempts.values()))
        parts = [stretch.piece.steps[: stretch.keep] for stretch in later._stretches]
        later.steps = np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)
        known = [attempt.targets for attempt in self._attempts.values()]
        if [attempt.targets for attempt in attempts.values()] != known:
            later._merge_targets()
        return later

    @property
    def starts(self) -> int:
        """How often the training was started."""
        return len(self._attempts)

    def has(self, key: tuple[str, str]) -> bool:
        """Whether any attempt has measured a target."""
        return any(key in columns for columns in self._columns.values())

    def _attempt(self, number: int) -> Attempt:
        return self._attempts.get(number) or Attempt(self.directory / attempt_folder(number))

    def _merge_targets(self) -> None:
        merged = {t.key: t for attempt in self._attempts.values() for t in attempt.targets}
        self.targets = sorted(merged.values(), key=lambda target: target.order)
        self._columns = {
            attempt.directory: {target.key: column for column, target in enumerate(attempt.targets)}
            for attempt in self._attempts.values()
        }

    def alerts(self) -> list[Alert]:
        """The alerts of the steps that count."""
        attempts = list(self._attempts.values())
        return [
            alert
            for attempt, taken in zip(attempts, _taken_over(attempts), strict=True)
            for alert in attempt.alerts()
            if taken is None or alert.step < taken
        ]

    def values(self, keys: Sequence[tuple[str, str]], statistic: str) -> Values:
        """[target][step] over `steps`; -inf where a target was not measured."""
        number = STATISTICS.index(statistic)
        parts = [
            stretch.piece.values(number, columns)[:, : stretch.keep]
            for stretch, columns in self._expected(keys, number, 1)
        ]
        return np.concatenate(parts, 1) if parts else np.zeros((len(keys), 0), np.float32)

    def largest(
        self, keys: Sequence[tuple[str, str]], statistic: str, level: int
    ) -> tuple[Steps, Values]:
        """The largest of each group of `level` records, with the first step of each group."""
        number = STATISTICS.index(statistic)
        steps: list[Steps] = [np.zeros(0, dtype=np.int64)]
        values: list[Values] = [np.zeros((len(keys), 0), np.float32)]
        for stretch, columns in self._expected(keys, number, level):
            coarse = stretch.piece.largest(number, columns, level)
            numbers = stretch.piece.steps
            if coarse is None or stretch.keep < len(numbers):
                steps.append(numbers[: stretch.keep])
                values.append(stretch.piece.values(number, columns)[:, : stretch.keep])
            else:
                assert isinstance(stretch.piece, Segment)
                steps.append(stretch.piece.all_steps[::level])
                values.append(coarse)
        return np.concatenate(steps), np.concatenate(values, 1)

    def _expected(
        self, keys: Sequence[tuple[str, str]], number: int, level: int
    ) -> list[tuple[Stretch, Columns]]:
        """Each stretch with the columns of the keys; the system fetches all of them meanwhile."""
        columns = {
            attempt: np.asarray([known.get(key, -1) for key in keys], dtype=np.intp)
            for attempt, known in self._columns.items()
        }
        found = [(stretch, columns[stretch.attempt.directory]) for stretch in self._stretches]
        for stretch, chosen in found:
            stretch.piece.expect(number, chosen, level)
        return found


def _in_force(attempts: Sequence[Attempt]) -> list[Stretch]:
    stretches: list[Stretch] = []
    for attempt, taken in zip(attempts, _taken_over(attempts), strict=True):
        for piece in attempt.pieces:
            steps = piece.steps
            keep = len(steps) if taken is None else int(np.searchsorted(steps, taken))
            if keep:
                stretches.append(Stretch(attempt, piece, keep))
    return stretches


def _taken_over(attempts: Sequence[Attempt]) -> list[int | None]:
    """For each attempt the first step that any later one wrote."""
    taken: list[int | None] = [None] * len(attempts)
    first: int | None = None
    for index in reversed(range(len(attempts))):
        taken[index] = first
        pieces = attempts[index].pieces
        steps = pieces[0].steps if pieces else None
        if steps is not None and len(steps):
            first = int(steps[0]) if first is None else min(first, int(steps[0]))
    return taken
