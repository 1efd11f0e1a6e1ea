"""mindstudio-probe's own converters over the tables that our monitor wrote in its place.

`PEER=/path make contract`: the environment that mindstudio-probe is installed in.
"""

from __future__ import annotations

import json
import math
import os
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from msprobe.cli import main
from msprobe.trends.monitor_csv import choose_tables
from msprobe.trends.trend_tables import convert_tables, csv2tensorboard_by_step
from tests.msprobe.pytorch.test_monitor_tables import V1, train_v1

PEER = os.environ.get("PEER")
pytestmark = [
    pytest.mark.skipif(PEER is None, reason="PEER names no environment of the peer"),
    pytest.mark.filterwarnings("ignore:Full backward hook is firing"),
]
ROWS = """
SELECT metric_name, target_name, rank, step, norm, min, max, mean, nans, zeros FROM trend_data
JOIN monitoring_targets USING (target_id) JOIN monitoring_metrics USING (metric_id)
ORDER BY 1, 2, 3, 4
"""
DUMP_ROWS = """
SELECT metric_name, target_name, micro_step, rank, step, norm, max, min, mean FROM trend_data
JOIN monitoring_targets USING (target_id) JOIN monitoring_metrics USING (metric_id)
ORDER BY 1, 2, 3, 4, 5
"""
TO_EVENTS = """
import sys
from msprobe.pytorch.monitor.csv2tb import csv2tensorboard_by_step

if __name__ == "__main__":
    csv2tensorboard_by_step(sys.argv[1], output_dirpath=sys.argv[2])
"""


@pytest.fixture
def tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MONITOR_OUTPUT_DIR", str(tmp_path / "out"))
    (tmp_path / "config.json").write_text(json.dumps(V1))
    train_v1(tmp_path / "config.json")
    return tmp_path / "out"


def peer(program: str, *words: str | Path, cwd: Path) -> None:
    """Run a program of its environment, elsewhere than here, where our msprobe would be found."""
    assert PEER is not None
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    command = [str(Path(PEER) / "bin" / program), *map(str, words)]
    subprocess.run(command, check=True, cwd=cwd, env=environment)


def rows_of(database: Path) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(database)) as connection:
        return connection.execute(ROWS).fetchall()


def test_its_database_of_our_tables_is_ours(tables: Path, tmp_path: Path) -> None:
    peer("msprobe", "data2db", "--db", tmp_path / "theirs", "--data", tables, cwd=tmp_path)
    ours, _ = convert_tables(choose_tables(tables), tmp_path / "ours", {}, True)
    theirs = rows_of(tmp_path / "theirs" / "monitor_data.trend.db")
    assert len(theirs) > 100
    assert rows_of(ours) == theirs


def test_its_database_of_a_dump_is_ours(samples: Path, tmp_path: Path) -> None:
    given = ("--data", samples / "statistics" / "problem", "--micro_step", "false")
    peer("msprobe", "data2db", "--db", tmp_path / "theirs", *given, cwd=tmp_path)
    assert main(["data2db", "--db", str(tmp_path / "ours"), *map(str, given)]) == 0
    found = []
    for side in ("ours", "theirs"):
        with closing(sqlite3.connect(tmp_path / side / "dump_data.trend.db")) as connection:
            rows = connection.execute(DUMP_ROWS).fetchall()
            tags = connection.execute("SELECT DISTINCT category, tag_name FROM monitoring_tags")
            schema = connection.execute("PRAGMA table_info(trend_data)").fetchall()
            found.append((rows, set(tags), schema))
    assert len(found[1][0]) > 500
    assert found[0] == found[1]


def test_its_events_of_our_tables_are_ours(tables: Path, tmp_path: Path) -> None:
    (tmp_path / "to_events.py").write_text(TO_EVENTS)
    peer("python", "to_events.py", tables, tmp_path / "theirs", cwd=tmp_path)
    csv2tensorboard_by_step(str(tables), output_dirpath=str(tmp_path / "ours"))
    folders = {
        path.parent.relative_to(tmp_path / "theirs")
        for path in (tmp_path / "theirs").rglob("events*")
    }
    assert folders
    for folder in folders:
        ours, theirs = (
            EventAccumulator(str(tmp_path / side / folder)) for side in ("ours", "theirs")
        )
        ours.Reload()
        theirs.Reload()
        tags = theirs.Tags()["scalars"]
        assert sorted(ours.Tags()["scalars"]) == sorted(tags)
        for tag in tags:
            pairs = zip(ours.Scalars(tag), theirs.Scalars(tag), strict=True)
            assert all(a.step == b.step and math.isclose(a.value, b.value) for a, b in pairs), tag
