"""Trends out as tables, events and databases; the files of mindstudio-probe's monitor in."""

from __future__ import annotations

import csv
import gzip
import math
import sqlite3
from pathlib import Path

import numpy as np
import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from builder.series.run import TrendRun
from msprobe.cli import main
from msprobe.errors import CheckError
from msprobe.trends.exporting import export
from msprobe.trends.importing import import_peer
from msprobe.trends.monitor_csv import choose_tables
from msprobe.trends.trend_tables import convert_tables, csv2tensorboard_by_step
from tests.builder.series.stores import write_steps

SAMPLES = Path(__file__).resolve().parents[2] / "samples" / "monitor-26.2.0"
FIRST = ("grad", "layers.0.weight")


@pytest.fixture
def run(tmp_path: Path) -> TrendRun:
    values = np.random.default_rng(0).lognormal(0, 3, (12, 3))
    values[4, 1] = np.nan
    write_steps(tmp_path / "run", values, range(12))
    return TrendRun(tmp_path / "run")


@pytest.fixture
def peer_database(tmp_path: Path) -> Path:
    path = tmp_path / "peer.trend.db"
    path.write_bytes(gzip.decompress((SAMPLES / "monitor_data.trend.db.gz").read_bytes()))
    return path


def test_a_table_holds_the_very_numbers(run: TrendRun, tmp_path: Path) -> None:
    path = export(run, "csv", tmp_path / "out")
    with path.open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["name"] == FIRST[1]]
    assert [np.float32(row["norm"]) for row in rows] == run.line(FIRST)[1].tolist()
    assert [int(row["step"]) for row in rows] == list(range(12))


def test_events_are_what_tensorboard_reads(run: TrendRun, tmp_path: Path) -> None:
    export(run, "tensorboard", tmp_path / "events")
    events = EventAccumulator(str(tmp_path / "events" / "rank0"))
    events.Reload()
    found = [event.value for event in events.Scalars("grad/layers.0.weight/norm")]
    assert found == run.line(FIRST)[1].tolist()


def test_a_database_has_the_schema_of_the_viewer(
    run: TrendRun, tmp_path: Path, peer_database: Path
) -> None:
    path = export(run, "trend.db", tmp_path / "db")
    ours, theirs = sqlite3.connect(path), sqlite3.connect(peer_database)
    for table in (
        *("monitoring_targets", "monitoring_metrics", "monitoring_tags"),
        *("tag_target_mapping", "trend_data"),
    ):
        question = f"PRAGMA table_info({table})"
        assert ours.execute(question).fetchall() == theirs.execute(question).fetchall()
    stats = ours.execute("SELECT min_step, max_step, max_rank, grad_reduced FROM global_stats")
    assert stats.fetchall() == [(0, 11, 0, "max,mean,min,nans,norm,zeros")]
    ours.close()
    theirs.close()


def test_data2db_gives_what_the_former_tool_gave(tmp_path: Path, peer_database: Path) -> None:
    path, _ = convert_tables(choose_tables(SAMPLES / "v1_plain"), tmp_path / "db", {}, True)
    question = (
        "SELECT step, norm, min, max, mean FROM trend_data JOIN monitoring_targets USING "
        "(target_id) JOIN monitoring_metrics USING (metric_id) WHERE metric_name = ? AND "
        "target_name = ? AND step < 4 AND norm IS NOT NULL ORDER BY step"
    )
    ours, theirs = sqlite3.connect(path), sqlite3.connect(peer_database)
    for asked in (("actv", "head.output"), ("actv_grad", "head.output")):
        found = ours.execute(question, asked).fetchall()
        assert len(found) == 4
        assert found == theirs.execute(question, asked).fetchall()
    tags = (
        "SELECT tag_name, category FROM monitoring_tags JOIN monitoring_metrics USING (metric_id)"
    )
    wanted = f"{tags} WHERE metric_name = 'actv' ORDER BY 1, 2"
    assert ours.execute(wanted).fetchall() == theirs.execute(wanted).fetchall()
    ours.close()
    theirs.close()


def test_data2db_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "map.json").write_text('{"head.": "last.", "last.out": "log"}')
    given = ["data2db", "--db", str(tmp_path), "--data", str(SAMPLES / "v1_plain")]
    assert main([*given, "--mapping", str(tmp_path / "map.json"), "--micro_step", "false"]) == 0
    with sqlite3.connect(tmp_path / "monitor_data.trend.db") as connection:
        names = connection.execute("SELECT target_name FROM monitoring_targets").fetchall()
        steps = connection.execute("SELECT max(step) FROM trend_data").fetchone()
    connection.close()
    assert ("last.input",) in names
    assert ("logput",) in names  # what one part became the next one is replaced in
    assert steps == (5,)
    assert main(["data2db", "--db", str(tmp_path), "--data", str(tmp_path / "none")]) == 1
    assert "none: no such folder" in capsys.readouterr().err


@pytest.mark.parametrize("micro", ["true", "false"])
def test_data2db_takes_dumps_and_their_micro_batches(
    micro: str, samples: Path, tmp_path: Path
) -> None:
    given = ["data2db", "--db", str(tmp_path), "--data", str(samples / "micro-steps" / "bench")]
    assert main([*given, "--micro_step", micro]) == 0
    with sqlite3.connect(tmp_path / "dump_data.trend.db") as connection:
        found = connection.execute(
            "SELECT step, micro_step, norm FROM trend_data JOIN monitoring_targets USING "
            "(target_id) JOIN monitoring_metrics USING (metric_id) WHERE target_name = "
            "'Module.head.Linear.output.0' AND metric_name = 'forward' ORDER BY 1, 2"
        ).fetchall()
        tags = set(connection.execute("SELECT tag_name, category FROM monitoring_tags"))
    connection.close()
    norms = [14.479989051818848, 15.966447830200195]  # as dump.json has them
    places = [(0, 0), (1, 0)] if micro == "true" else [(0, 0), (0, 1)]
    assert found == [(*place, norm) for place, norm in zip(places, norms, strict=True)]
    assert {("layers.1", "layer"), ("mlp.fc1.Linear", "module"), ("input.0", "index")} <= tags
    assert main(["data2db", "--db", str(tmp_path), "--data", str(samples / "structure")]) == 1


def test_tables_become_events(tmp_path: Path) -> None:
    folder = tmp_path / "Nov22_10-00-00-rank3-0123abcd"
    folder.mkdir()
    content = (SAMPLES / "v1_plain" / "actv_0-1.csv").read_bytes()
    (folder / "actv_0-1.csv").write_bytes(content)
    csv2tensorboard_by_step(str(tmp_path), output_dirpath=str(tmp_path / "out"))
    events = EventAccumulator(str(tmp_path / "out" / "rank3" / "actv"))
    events.Reload()
    tag = "vp0:emb.output:micro0/norm"
    assert [event.step for event in events.Scalars(tag)] == [0, 1]
    assert math.isclose(events.Scalars(tag)[0].value, 7.27461942, rel_tol=1e-6)


def test_folders_are_chosen_by_the_time_in_their_names_over_new_year(tmp_path: Path) -> None:
    content = (SAMPLES / "v1_plain" / "actv_0-1.csv").read_bytes()
    times = ("Nov28_10-00-00", "Dec03_21-34-40", "Jan02_08-00-00", "2026-12-03T22-00-00")
    for rank, time in enumerate(times):
        folder = tmp_path / f"{time}-rank{rank}-0123abcd"
        folder.mkdir()
        (folder / "actv_0-1.csv").write_bytes(content)

    def ranks(first: str | None, last: str | None) -> list[int]:
        return [table.rank for table in choose_tables(tmp_path, ["actv"], first, last)]

    assert ranks(None, None) == [0, 1, 2, 3]
    assert ranks("Nov28_10-00-00", "Dec03_21-34-40") == [0, 1]
    assert ranks("Dec03_21-34-41", "Jan31_00-00-00") == [2, 3]
    assert ranks("2026-12-01T00-00-00", "2026-12-31T00-00-00") == [1, 3]
    with pytest.raises(CheckError, match="time_start is 'Dez03_21-34-40'"):
        ranks("Dez03_21-34-40", None)
    with pytest.raises(CheckError, match="no table of actv from Feb01"):
        ranks("Feb01_00-00-00", "Feb02_00-00-00")


def test_scripts_find_the_conversion_by_the_name_that_they_import(tmp_path: Path) -> None:
    from msprobe.pytorch.monitor.csv2tb import csv2tensorboard_by_step as by_its_name

    assert by_its_name is csv2tensorboard_by_step
    with pytest.raises(CheckError, match="no 'actvs'") as wrong:
        by_its_name(str(SAMPLES / "v1_plain"), data_type_list=["actvs"])
    assert "did you mean 'actv'?" in wrong.value.hint


@pytest.mark.parametrize("form", ["database", "tables"])
def test_a_run_of_the_former_monitor_becomes_trends(
    form: str, tmp_path: Path, peer_database: Path
) -> None:
    source = peer_database if form == "database" else SAMPLES / "v1_plain"
    steps, series = import_peer(source, tmp_path / "trends")
    run = TrendRun(tmp_path / "trends")
    assert len(run.steps) == steps > 0
    assert len(run.targets) == series > 0
    assert run.line(("param", "head.weight"))[1][0] > 0
    with pytest.raises(CheckError, match="something is here"):
        import_peer(source, tmp_path / "trends")


def test_what_is_no_monitor_is_said(tmp_path: Path) -> None:
    with pytest.raises(CheckError, match="no tables of a monitor"):
        import_peer(tmp_path, tmp_path / "out")
    (tmp_path / "odd.trend.db").write_bytes(b"x" * 4096)
    with pytest.raises(CheckError, match=r"odd\.trend\.db"):
        import_peer(tmp_path / "odd.trend.db", tmp_path / "out")


def test_the_command_says_alerts_and_where_runs_part(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    values = np.ones((40, 2))
    write_steps(tmp_path / "a", values, range(40))
    values[30:, 1] = 2
    write_steps(tmp_path / "b", values, range(40))
    assert main(["trend", str(tmp_path / "a")]) == 0
    assert "no alert" in capsys.readouterr().out
    assert main(["trend", str(tmp_path / "a"), "--compare", str(tmp_path / "b")]) == 4
    said = capsys.readouterr().out
    assert "they part at step 30: grad of layers.1.weight, by 1 octaves" in said
    assert '"step": [29, 30]' in said
    assert main(["trend", "export", str(tmp_path / "a")]) == 1
    assert main(["trend", str(tmp_path / "none")]) == 1
