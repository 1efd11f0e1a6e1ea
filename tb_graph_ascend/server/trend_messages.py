"""The messages of the trends."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from builder.claim import Claim
from builder.results.records import Count

Key = tuple[str, str]
AlertKind = Literal[
    "jump", "vanishes", "not finite", "dead", "missing", "drift", "fades", "still", "disagree"
]


class TrendEntry(msgspec.Struct, frozen=True):
    """A folder with trends; `id` is an opaque token, safe in a path segment."""

    id: str
    path: str
    modified: float


class TrendList(msgspec.Struct, frozen=True):
    """All trends, newest first."""

    runs: list[TrendEntry]


class TrendKind(msgspec.Struct, frozen=True):
    """A kind of series and how many targets it has."""

    kind: str
    targets: Count


class TrendSummary(msgspec.Struct, frozen=True):
    """A run's trends as a whole; `scalars` are the keys of its scalar series."""

    id: str
    path: str
    steps: Count
    first: int
    last: int
    ranks: list[int]
    kinds: list[TrendKind]
    scalars: list[Key]
    opened: list[str]


class TrendRow(msgspec.Struct, frozen=True):
    """A row of the heat map: a target, or a module that stands for all below it."""

    name: str
    depth: int
    leaves: Count
    open: bool
    target: str | None


class TrendHeat(msgspec.Struct, frozen=True):
    """The visible rows from `offset` on; `cells` is base64 of [row][column] bytes."""

    total: Count
    offset: Count
    rows: list[TrendRow]
    steps: list[int]
    cells: str


class TrendTile(msgspec.Struct, frozen=True):
    """A row as a small line: the largest value of each column's steps, alone and in the other run.

    A value that is not finite or was not measured is null; a folded module has none.
    """

    row: TrendRow
    values: list[float | None]
    other: list[float | None]


class TrendTiles(msgspec.Struct, frozen=True):
    """Small lines of the visible rows from `offset` on; `steps` are the first of each column."""

    total: Count
    offset: Count
    steps: list[int]
    tiles: list[TrendTile]


class TrendLine(msgspec.Struct, frozen=True):
    """A series: at each step its value, or the least and largest of the steps up to the next.

    A value that is not finite is null.
    """

    kind: str
    name: str
    steps: list[int]
    low: list[float | None]
    high: list[float | None]


class TrendLines(msgspec.Struct, frozen=True):
    """Several series."""

    lines: list[TrendLine]


class TrendAlert(msgspec.Struct, frozen=True):
    """An alert, one a cause; `again` are later steps of it, `every` their distance where that is
    always the same.
    """

    step: int
    kind: AlertKind
    target: Key
    factor: float | None
    count: Count
    others: list[Key]
    ranks: list[int]
    lr: float | None
    rank: int
    again: list[int]
    every: int | None


class TrendAlerts(msgspec.Struct, frozen=True):
    """All alerts, by step."""

    alerts: list[TrendAlert]


class TrendDecision(msgspec.Struct, frozen=True):
    """What a script has decided otherwise in a step; null in a run that has no such setting, clips
    nothing or skips nothing.
    """

    step: int
    target: Key
    own: float | None
    other: float | None


class TrendParting(msgspec.Struct, frozen=True):
    """Where two runs part; `weight` explains the target, and is `factor` times the other run's.

    `missing` is the run that does not measure the target from then on, `decided` what a script has
    set otherwise, which `others` follow from. `rank` is the
    one on which they part, where the runs were compared rank by rank; `claim` is what may be said.
    """

    verdict: Literal["equal", "parts", "noise", "nothing"]
    step: int | None
    target: Key | None
    count: Count
    band: float
    delta: float
    others: list[Key]
    steps: Count
    weight: Key | None
    factor: float | None
    missing: Literal["ours", "theirs"] | None
    decided: TrendDecision | None
    rank: int | None
    claim: Claim


class TrendComparison(msgspec.Struct, frozen=True):
    """A result file that has a step."""

    db: str
    path: str
    step: int
    rank: int


class RankValue(msgspec.Struct, frozen=True):
    """A target's value on one rank and, where one is named, in the other run; null where it is not
    finite or was not measured. `octaves` apart: |log2| of one by the other, null without both.
    """

    rank: int
    value: float | None
    minority: bool
    other: float | None = None
    octaves: float | None = None


class TrendCell(msgspec.Struct, frozen=True):
    """What can be done with one step of a target: comparisons of it, or how to record it."""

    ranks: list[RankValue]
    comparisons: list[TrendComparison]
    config: dict[str, Any]
    checkpoint: str | None
