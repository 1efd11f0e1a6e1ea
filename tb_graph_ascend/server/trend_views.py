"""What the page asks of trends, over opened runs that are kept and follow their writers."""

from __future__ import annotations

import math
import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from builder.series.all_ranks import compare_all
from builder.series.heat import DRAWN
from builder.series.next_dump import checkpoint_before, dump_configuration
from builder.series.octaves import octaves_apart
from builder.series.run import Key, TrendRun
from msprobe_core.format.series import SETTING
from tb_graph_ascend.server.errors import NotFoundError
from tb_graph_ascend.server.library import Library
from tb_graph_ascend.server.trend_messages import (
    RankValue,
    TrendAlert,
    TrendCell,
    TrendComparison,
    TrendDecision,
    TrendEntry,
    TrendKind,
    TrendLine,
    TrendList,
    TrendParting,
    TrendSummary,
)

_MOST_OPEN = 8
_MOST_COMPARISONS = 8
_FEW_ROWS = 40
"""Modules are unfolded from the top as long as no more rows than this are seen."""


class Trends:
    """The runs below the log folders, opened once; requests refresh what they look at."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._lock = threading.Lock()
        self._runs: dict[Path, TrendRun] = {}

    def entries(self) -> TrendList:
        """All runs, newest first."""
        found = self._library.logdirs.runs()
        return TrendList([TrendEntry(run.token, run.shown, run.modified) for run in found])

    def open(self, token: str) -> TrendRun:
        """A run as it is now. Raises NotFoundError and TrendError."""
        folder = self._library.logdirs.resolve_run(token)
        if folder is None:
            raise NotFoundError(
                f"no trends {token[:100]!r} below the log folders", "reload the list of runs"
            )
        with self._lock:
            known = self._runs.pop(folder.path, None)
            run = TrendRun(folder.path) if known is None else known.refreshed()
            self._runs[folder.path] = run
            while len(self._runs) > _MOST_OPEN:
                self._runs.pop(next(iter(self._runs)))
            return run

    def shown(self, token: str) -> str:
        """The path below its log folder."""
        folder = self._library.logdirs.resolve_run(token)
        return folder.shown if folder is not None else ""

    def comparisons(self, step: int) -> list[TrendComparison]:
        """Result files that have this step, the newest first."""
        found: list[TrendComparison] = []
        for entry in self._library.entries():
            if entry.error is None and len(found) < _MOST_COMPARISONS:
                summary = self._library.open(entry.id, lambda *_: ()).database.summary()
                pair = next((p for p in summary.pairs if p.step == step), None)
                if pair is not None:
                    found.append(TrendComparison(entry.id, entry.path, pair.step, pair.rank))
        return found


def summary(run: TrendRun, token: str, path: str) -> TrendSummary:
    """A run as a whole."""
    steps = run.steps
    counts: dict[str, int] = {}
    for target in run.targets:
        counts[target.kind] = counts.get(target.kind, 0) + 1
    return TrendSummary(
        id=token,
        path=path,
        steps=len(steps),
        first=int(steps[0]) if len(steps) else 0,
        last=int(steps[-1]) if len(steps) else 0,
        ranks=list(run.ranks),
        kinds=[TrendKind(kind, count) for kind, count in counts.items() if kind in DRAWN],
        scalars=[target.key for target in run.targets if target.kind not in DRAWN | {SETTING}],
        opened=_first_open([t.name for t in run.targets if t.kind in DRAWN]),
    )


def line(
    run: TrendRun,
    key: Key,
    statistic: str,
    rank: int | None,
    window: tuple[int | None, int | None, int],
) -> TrendLine:
    """A series, thinned to the least and largest of as many steps as a point stands for."""
    steps, values = run.line(key, statistic, rank)
    low, high, points = window
    inside = np.ones(len(steps), dtype=bool)
    inside &= steps >= (low if low is not None else -np.inf)
    inside &= steps <= (high if high is not None else np.inf)
    steps, values = steps[inside], values[inside]
    starts = np.unique(np.linspace(0, len(steps), min(points, len(steps)) + 1).astype(int)[:-1])
    if not len(starts):
        return TrendLine(key[0], key[1], [], [], [])
    return TrendLine(
        key[0],
        key[1],
        steps[starts].tolist(),
        finite_numbers(np.minimum.reduceat(values, starts)),
        finite_numbers(np.maximum.reduceat(values, starts)),
    )


def alerts(run: TrendRun) -> list[TrendAlert]:
    """All alerts."""
    return [TrendAlert(**alert.facts()) for alert in run.alerts()]


@lru_cache(maxsize=2)
def parting(run: TrendRun, other: TrendRun) -> TrendParting:
    """Where two runs part, as they were at one moment; pages ask again every few seconds."""
    compared = compare_all(run, other)
    found = compared.divergence
    return TrendParting(
        found.verdict,
        found.step,
        found.target,
        found.count,
        found.band,
        _finite(found.delta) or 0.0,
        list(found.others),
        found.steps,
        found.weight,
        found.factor,
        found.missing,
        TrendDecision(**asdict(found.decided)) if found.decided is not None else None,
        compared.rank,
        compared.claim,
    )


def cell(
    run: TrendRun,
    other: TrendRun | None,
    key: Key,
    step: int,
    statistic: str,
    found: Sequence[TrendComparison],
) -> TrendCell:
    """One step of a target: its value on each rank, in the other run, and what can be done."""
    ranks = run.ranks_of(key)
    values = [_value_at(run, key, step, statistic, rank) for rank in ranks]
    theirs = set(other.ranks_of(key)) if other is not None else set()
    beside = [
        _value_at(other, key, step, statistic, rank) if other and rank in theirs else None
        for rank in ranks
    ]
    counts = Counter(value for value in values if value is not None)
    most = max(counts, key=counts.__getitem__, default=None)
    alike = most is not None and counts[most] > counts.total() / 2
    checkpoint = checkpoint_before(run.path, step)
    return TrendCell(
        ranks=[
            RankValue(
                rank,
                _finite(value),
                alike and value != most and value is not None,
                _finite(reference),
                _octaves(value, reference),
            )
            for rank, value, reference in zip(ranks, values, beside, strict=True)
        ],
        comparisons=list(found),
        config=dict(dump_configuration(key, step)),
        checkpoint=checkpoint.name if checkpoint is not None else None,
    )


def _value_at(run: TrendRun, key: Key, step: int, statistic: str, rank: int) -> float | None:
    """What a rank measured at a step; None where it measured nothing."""
    steps, measured = run.line(key, statistic, rank)
    at = int(np.searchsorted(steps, step))
    there = at < len(steps) and steps[at] == step
    return float(measured[at]) if there else None


def _octaves(one: float | None, other: float | None) -> float | None:
    """How far two values are apart; None where one is missing or not finite."""
    if one is None or other is None:
        return None
    apart = float(octaves_apart(np.asarray([one]), np.asarray([other]))[0])
    return _finite(apart) if math.isfinite(one) and math.isfinite(other) else None


def _first_open(names: Sequence[str]) -> list[str]:
    """Which modules are open at first: from the top, while few rows are seen."""
    split = [name.split(".") for name in dict.fromkeys(names)]
    opened: list[str] = []
    for level in range(1, max((len(parts) for parts in split), default=0)):
        rows = {".".join(parts[: level + 1]) for parts in split}
        if len(rows) + len(opened) > _FEW_ROWS:
            break
        opened += dict.fromkeys(".".join(parts[:level]) for parts in split if len(parts) > level)
    return opened


def finite_numbers(values: NDArray[np.floating[Any]]) -> list[float | None]:
    """The numbers, null where one is not finite."""
    if np.isfinite(values).all():
        return cast(list[float | None], values.tolist())
    return [_finite(value) for value in values.tolist()]


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
