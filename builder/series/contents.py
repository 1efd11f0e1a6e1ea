"""What is in a folder of trends, in few words: for those who ask before they look."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from builder.series.run import TrendRun


@dataclass(frozen=True, slots=True)
class TrendContents:
    """A training's trends as a whole: its steps, ranks, starts, series by kind and alerts."""

    path: Path
    steps: int
    first: int | None
    last: int | None
    ranks: tuple[int, ...]
    starts: int
    series: Mapping[str, int]
    alerts: int
    size: int
    """Bytes of all files."""


def trend_contents(path: Path) -> TrendContents:
    """Look at a folder that `Trends` wrote. Raises TrendError."""
    run = TrendRun(path)
    steps = run.steps
    files = [file for folder in path.glob("rank*") for file in folder.rglob("*") if file.is_file()]
    return TrendContents(
        path=path,
        steps=len(steps),
        first=int(steps[0]) if len(steps) else None,
        last=int(steps[-1]) if len(steps) else None,
        ranks=tuple(run.ranks),
        starts=max((series.starts for series in run.ranks.values()), default=0),
        series=dict(Counter(target.kind for target in run.targets)),
        alerts=len(run.alerts()),
        size=sum(file.stat().st_size for file in files),
    )
