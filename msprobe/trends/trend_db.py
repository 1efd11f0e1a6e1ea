"""The `.trend.db` of mindstudio-probe: written as its own tools read it, and read back."""

from __future__ import annotations

import math
import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from msprobe.errors import CheckError
from msprobe_core.format.whole_file import written_whole

STATISTICS = ("norm", "min", "max", "zeros", "nans", "mean")
_LARGEST = 1e9
"""Values are clipped there, infinite ones lie one beyond."""
_BATCH = 20_000
LAYER = re.compile(r"(?:^|\.)(\w+\.\d+)(?=\.|$)")
Tags = tuple[tuple[str, str], ...]
"""Names by which targets are filtered, each with its category."""

_SCHEMA = """
CREATE TABLE monitoring_targets (target_id INTEGER PRIMARY KEY AUTOINCREMENT,
    target_name TEXT NOT NULL, vpp_stage INTEGER NOT NULL, micro_step INTEGER NOT NULL DEFAULT 0,
    UNIQUE(target_name, vpp_stage, micro_step));
CREATE TABLE monitoring_metrics (metric_id INTEGER PRIMARY KEY AUTOINCREMENT,
    metric_name TEXT UNIQUE NOT NULL);
CREATE TABLE monitoring_tags (tag_id INTEGER PRIMARY KEY AUTOINCREMENT, tag_name TEXT NOT NULL,
    category TEXT NOT NULL, metric_id INTEGER NOT NULL, UNIQUE(tag_name, category, metric_id),
    FOREIGN KEY (metric_id) REFERENCES monitoring_metrics(metric_id));
CREATE TABLE tag_target_mapping (tag_id INTEGER NOT NULL, target_id INTEGER NOT NULL,
    PRIMARY KEY (tag_id, target_id), FOREIGN KEY (tag_id) REFERENCES monitoring_tags(tag_id),
    FOREIGN KEY (target_id) REFERENCES monitoring_targets(target_id));
CREATE TABLE trend_data (rank INTEGER NOT NULL, step INTEGER NOT NULL, target_id INTEGER NOT NULL,
    metric_id INTEGER NOT NULL, {statistics},
    PRIMARY KEY (rank, step, target_id, metric_id),
    FOREIGN KEY (target_id) REFERENCES monitoring_targets(target_id),
    FOREIGN KEY (metric_id) REFERENCES monitoring_metrics(metric_id)) WITHOUT ROWID;
"""


@dataclass(frozen=True, slots=True)
class Row:
    """One target at one step of one rank under a metric, such as `grad_reduced`."""

    rank: int
    step: int
    vpp_stage: int
    micro_step: int
    target: str
    metric: str
    values: Mapping[str, float | None]
    tags: Tags = ()
    """Those of its name where none are given."""


def write_trend_db(path: Path, rows: Iterable[Row], statistics: Sequence[str] = STATISTICS) -> int:
    """Write rows into a new file, an old one goes; how many there were."""
    with written_whole(path) as hidden, closing(sqlite3.connect(hidden)) as connection:
        columns = ", ".join(f"{name} REAL DEFAULT NULL" for name in statistics)
        connection.executescript(_SCHEMA.format(statistics=columns))
        count = _fill(connection, rows, statistics)
        connection.commit()
    return count


def read_trend_db(path: Path) -> Iterator[Row]:
    """The rows of such a file, by step. Raises CheckError."""
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        found = connection.execute(
            "SELECT rank, step, vpp_stage, micro_step, target_name, metric_name, "
            f"{', '.join(STATISTICS)} FROM trend_data JOIN monitoring_targets USING (target_id) "
            "JOIN monitoring_metrics USING (metric_id) ORDER BY step, rank"
        )
        for rank, step, vpp, micro, target, metric, *values in found:
            if any(value is not None for value in values):
                numbers = dict(zip(STATISTICS, map(_unclipped, values), strict=True))
                yield Row(rank, step, vpp, micro, target, metric, numbers)
    except sqlite3.Error as error:
        raise CheckError(f"{path}: {error}", "give a .trend.db of data2db") from error
    finally:
        connection.close()


def _fill(connection: sqlite3.Connection, rows: Iterable[Row], statistics: Sequence[str]) -> int:
    targets: dict[tuple[str, int, int], int] = {}
    metrics: dict[str, int] = {}
    tagged: set[tuple[int, int]] = set()
    tags: dict[tuple[str, str, int], int] = {}
    present: dict[str, set[str]] = {}
    steps: list[int] = []
    last_rank = count = 0
    waiting: list[tuple[object, ...]] = []
    for row in rows:
        metric = metrics.setdefault(row.metric, len(metrics) + 1)
        key = (row.target, row.vpp_stage, row.micro_step)
        target = targets.setdefault(key, len(targets) + 1)
        if (metric, target) not in tagged:
            tagged.add((metric, target))
            _tag(connection, tags, row.tags or _tags_of(row.target), metric, target)
        known = {name: value for name, value in row.values.items() if value is not None}
        present.setdefault(row.metric, set()).update(known)
        values = [_clipped(row.values.get(name)) for name in statistics]
        waiting.append((row.rank, row.step, target, metric, *values))
        steps.append(row.step)
        last_rank, count = max(last_rank, row.rank), count + 1
        if len(waiting) == _BATCH:
            _insert(connection, waiting)
    _insert(connection, waiting)
    connection.executemany(
        "INSERT INTO monitoring_targets VALUES (?, ?, ?, ?)",
        [(number, *key) for key, number in targets.items()],
    )
    connection.executemany(
        "INSERT INTO monitoring_metrics VALUES (?, ?)", [(n, name) for name, n in metrics.items()]
    )
    _summarise(connection, present, (min(steps, default=0), max(steps, default=0)), last_rank)
    return count


def _insert(connection: sqlite3.Connection, waiting: list[tuple[object, ...]]) -> None:
    if not waiting:
        return
    marks = ", ".join("?" * len(waiting[0]))
    connection.executemany(f"INSERT OR REPLACE INTO trend_data VALUES ({marks})", waiting)
    waiting.clear()


def _tag(
    connection: sqlite3.Connection,
    tags: dict[tuple[str, str, int], int],
    parts: Tags,
    metric: int,
    target: int,
) -> None:
    for part, category in parts:
        key = (part, category, metric)
        if key not in tags:
            tags[key] = len(tags) + 1
            connection.execute("INSERT INTO monitoring_tags VALUES (?, ?, ?, ?)", (tags[key], *key))
        connection.execute(
            "INSERT OR IGNORE INTO tag_target_mapping VALUES (?, ?)", (tags[key], target)
        )


def _tags_of(name: str) -> Tags:
    """Layers, such as `layers.1`, and the other parts of a name are what the viewer filters by."""
    parts = [(layer, "layer") for layer in LAYER.findall(name)]
    parts += [(part, "module") for part in name.split(".") if not part.isdecimal()]
    return tuple(dict.fromkeys(parts))


def _summarise(
    connection: sqlite3.Connection,
    present: Mapping[str, set[str]],
    steps: tuple[int, int],
    last_rank: int,
) -> None:
    columns = "".join(f', "{metric}" TEXT DEFAULT NULL' for metric in present)
    connection.execute(
        "CREATE TABLE global_stats (min_step INTEGER DEFAULT 0, max_step INTEGER DEFAULT 0, "
        f"max_rank INTEGER DEFAULT 0{columns})"
    )
    values = [",".join(sorted(names)) for names in present.values()]
    marks = ", ".join("?" * (3 + len(values)))
    connection.execute(f"INSERT INTO global_stats VALUES ({marks})", (*steps, last_rank, *values))


def _clipped(value: float | None) -> float | None:
    if value is None or math.isnan(value):
        return None
    if math.isinf(value):
        return math.copysign(_LARGEST + 1, value)
    return max(-_LARGEST, min(_LARGEST, value))


def _unclipped(value: float | None) -> float | None:
    return math.copysign(math.inf, value) if value is not None and abs(value) > _LARGEST else value
