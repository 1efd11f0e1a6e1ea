"""A whole run's trends: all ranks, one list of targets, lines, heat maps and alerts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from builder.errors import InputError
from builder.series.alert_causes import one_a_cause
from builder.series.pieces import Steps, Values
from builder.series.rank_series import RankSeries
from msprobe_core.format.alerts import Alert
from msprobe_core.format.bounded import parse_json
from msprobe_core.format.regular_file import read_regular
from msprobe_core.format.series import (
    LEVELS,
    RUN_FILE,
    VERSION,
    TrendTarget,
    parse_rank,
    rank_folder,
)

Key = tuple[str, str]
_NAMED = 10
_ENOUGH = 0.75
"""A coarse level is taken when it fills so much of the columns asked for."""


class TrendError(InputError):
    """A folder that should hold trends, or what was asked of them."""


@dataclass(frozen=True, slots=True)
class Heat:
    """[target][column] of the largest value in each column's steps; `steps` are their first ones.

    -inf where nothing was measured; NaN where a value was NaN.
    """

    steps: Steps
    values: Values


class TrendRun:
    """The trends below a folder as they were at one moment; `refreshed` is as they are now.

    A target that several ranks wrote is shown from the first of them unless a rank is named.
    Raises TrendError.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._started = _start_of(path)
        self.facts = _facts(path)
        self.ranks: dict[int, RankSeries] = {}
        self.targets: list[TrendTarget] = []
        self.steps: Steps = np.zeros(0, dtype=np.int64)
        """The steps of all ranks, ascending."""
        self._home: dict[Key, int] = {}
        self._look()

    def refreshed(self) -> TrendRun:
        """The run as it is now; this one stays as it is for those who read it. Raises TrendError.

        Itself where nothing was written since. Where the training was started since, all is read
        anew: what was there may be gone.
        """
        if _start_of(self.path) != self._started:
            return TrendRun(self.path)
        later = copy(self)
        later._look()
        return self if later.ranks == self.ranks else later

    def _look(self) -> None:
        known = self.ranks
        try:
            numbers = [parse_rank(path.name) for path in self.path.iterdir()]
            self.ranks = {
                rank: (
                    known.get(rank) or RankSeries(rank, self.path / rank_folder(rank))
                ).refreshed()
                for rank in sorted(number for number in numbers if number is not None)
            }
        except (OSError, ValueError) as error:
            raise TrendError(
                f"{self.path}: {error}", "copy the folder again, or remove the broken attempt"
            ) from error
        if self.ranks == known:
            return
        parts = [series.steps for series in self.ranks.values()]
        self.steps = parts[0] if len(parts) == 1 else np.unique(np.concatenate(parts))
        if [s.targets for s in self.ranks.values()] != [s.targets for s in known.values()]:
            self._merge_targets()

    def _merge_targets(self) -> None:
        found = {t.key: (rank, t) for rank, s in reversed(self.ranks.items()) for t in s.targets}
        self._home = {key: rank for key, (rank, _) in found.items()}
        self.targets = sorted((t for _, t in found.values()), key=lambda target: target.order)

    def of_rank(self, rank: int) -> TrendRun:
        """What one rank wrote, as a run of its own."""
        alone = copy(self)
        alone.ranks = {rank: self.ranks[rank]}
        alone.steps = self.ranks[rank].steps
        alone._merge_targets()
        return alone

    def home(self, key: Key) -> int:
        """The first rank that wrote a target."""
        return self._home[key]

    def ranks_of(self, key: Key) -> list[int]:
        """The ranks that wrote a target."""
        return [rank for rank, series in self.ranks.items() if series.has(key)]

    def line(
        self, key: Key, statistic: str = "norm", rank: int | None = None
    ) -> tuple[Steps, Values]:
        """The steps at which a target was measured and its values. Raises TrendError."""
        series = self._series(key, rank)
        values = series.values([key], statistic)[0]
        there = values != -np.inf
        return series.steps[there], values[there]

    def table(self, keys: Sequence[Key], statistic: str = "norm") -> tuple[Steps, Values]:
        """[step][target] over the run's steps; -inf where a target was not measured."""
        steps = self.steps
        values = np.full((len(steps), len(keys)), -np.inf, dtype=np.float32)
        for series, chosen in self._by_rank(keys):
            at = np.searchsorted(steps, series.steps)
            values[at[:, None], np.asarray(chosen)] = series.values(
                [keys[i] for i in chosen], statistic
            ).T
        return steps, values

    def values_at(self, steps: Steps, keys: Sequence[Key], statistic: str = "norm") -> Values:
        """[step][target] of some of the run's steps, as `table` has them."""
        known, values = self.table(keys, statistic)
        return values[np.searchsorted(known, steps)]

    def heat(
        self,
        keys: Sequence[Key],
        statistic: str = "norm",
        between: tuple[int, int] | None = None,
        columns: int = 1500,
    ) -> Heat:
        """The largest values in at most `columns` columns between two steps, both included."""
        steps = self.steps
        low, high = between or ((int(steps[0]), int(steps[-1])) if len(steps) else (0, 0))
        inside = steps[(steps >= low) & (steps <= high)]
        level = max((n for n in LEVELS if len(inside) / n >= columns * _ENOUGH), default=1)
        # No more columns than groups: one without any would look as if nothing had been measured.
        count = min(columns, len(inside) // level)
        edges = inside[np.linspace(0, len(inside), count + 1).astype(int)[:-1]]
        values = np.full((len(keys), len(edges)), -np.inf, dtype=np.float32)
        for series, chosen in self._by_rank(keys):
            wanted = [keys[i] for i in chosen]
            at, found = _grouped(series, wanted, statistic, level)
            kept = slice(*np.searchsorted(at, (low - level, high), side="right"))
            _fill(values, chosen, edges, at[kept], found[:, kept])
        return Heat(edges, values)

    def alerts(self) -> list[Alert]:
        """All alerts, one a cause, by step."""
        return one_a_cause([a for series in self.ranks.values() for a in series.alerts()])

    def _series(self, key: Key, rank: int | None) -> RankSeries:
        if rank is None:
            if key not in self._home:
                raise TrendError(
                    f"{self.path}: no {key[0]} of {key[1]!r}",
                    "msprobe trend DIR --json lists all targets",
                )
            rank = self._home[key]
        if rank not in self.ranks:
            raise TrendError(f"{self.path}: no rank {rank}", f"it has {sorted(self.ranks)}")
        return self.ranks[rank]

    def _by_rank(self, keys: Sequence[Key]) -> Iterator[tuple[RankSeries, list[int]]]:
        for rank, series in self.ranks.items():
            chosen = [i for i, key in enumerate(keys) if self._home.get(key) == rank]
            if chosen:
                yield series, chosen


def find_runs(folder: Path) -> list[Path]:
    """The folders at or below a folder that hold trends."""
    return [path.parent for path in sorted(folder.rglob(RUN_FILE)) if is_run(path.parent)]


def is_run(folder: Path) -> bool:
    """Whether a folder holds trends."""
    try:
        _facts(folder)
    except TrendError:
        return False
    return True


def _start_of(path: Path) -> tuple[int, int] | None:
    """Changes when a training is started in the folder, and `run.json` written with it."""
    try:
        state = (path / RUN_FILE).stat()
    except OSError:  # `_facts` says what is wrong
        return None
    return state.st_mtime_ns, state.st_ino


def _facts(path: Path) -> Mapping[str, Any]:
    hint = "give the folder that Trends(…) was given; it holds run.json"
    try:
        facts = parse_json(read_regular(path / RUN_FILE).decode())
    except FileNotFoundError as error:
        below = [each.parent.name for each in sorted(path.glob(f"*/{RUN_FILE}"))]
        if below:
            hint = f"give one of those in it: {', '.join(below[:_NAMED])}"
        raise TrendError(f"{path}: no trends are here", hint) from error
    except (OSError, ValueError) as error:
        raise TrendError(f"{path}: no trends are here ({error})", hint) from error
    if not isinstance(facts, dict) or facts.get("format") != "trends":
        raise TrendError(f"{path}: {RUN_FILE} is not that of trends", hint)
    if facts.get("version") != VERSION:
        raise TrendError(
            f"{path}: trends of version {facts.get('version')!r}, this release reads {VERSION}",
            "install the release that wrote them",
        )
    return facts


def _grouped(
    series: RankSeries, keys: Sequence[Key], statistic: str, level: int
) -> tuple[Steps, Values]:
    if level == 1:
        return series.steps, series.values(keys, statistic)
    return series.largest(keys, statistic, level)


def _fill(values: Values, rows: list[int], edges: Steps, at: Steps, found: Values) -> None:
    """Put the largest of the found values of each column into the rows."""
    if not len(at) or not len(edges):
        return
    column = np.clip(np.searchsorted(edges, at, side="right") - 1, 0, None)
    starts = np.flatnonzero(np.diff(column, prepend=-1))
    # Most often each column has one group, and each group a column of its own.
    largest = found if len(starts) == len(at) else np.maximum.reduceat(found, starts, axis=1)
    if len(rows) < len(values):
        values[np.asarray(rows)[:, None], column[starts]] = largest
    elif len(starts) == len(edges):
        values[:] = largest
    else:
        values[:, column[starts]] = largest
