"""What was written is read back: whole, while it grows, after kills, over attempts and ranks."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builder.series.pieces import Segment
from builder.series.run import TrendError, TrendRun, find_runs
from msprobe_core.format.series import SEGMENT, STATISTICS
from msprobe_core.monitor.store import SeriesWriter, write_run
from tests.builder.series.stores import table, targets, without, write_steps

ROOT = Path(__file__).resolve().parents[3]
FIRST = ("grad", "layers.0.weight")


def some_values(steps: int, columns: int) -> np.ndarray:
    return np.random.default_rng(0).lognormal(0, 3, (steps, columns))


@pytest.mark.parametrize("steps", [0, 1, SEGMENT - 1, SEGMENT, SEGMENT + 1, 3 * SEGMENT + 7])
def test_lines_are_read_back_bit_for_bit(tmp_path: Path, steps: int) -> None:
    values = some_values(steps, 3)
    write_steps(tmp_path, values, range(steps))
    run = TrendRun(tmp_path)
    for column, target in enumerate(run.targets):
        at, line = run.line(target.key)
        assert at.tolist() == list(range(steps))
        assert (line == values[:, column].astype(np.float32)).all()


def test_steps_need_not_follow_each_other(tmp_path: Path) -> None:
    steps = np.cumsum(np.random.default_rng(1).integers(1, 9, SEGMENT + 20)).tolist()
    write_steps(tmp_path, some_values(len(steps), 1), steps)
    assert TrendRun(tmp_path).line(FIRST)[0].tolist() == steps


def test_a_target_that_was_not_measured_has_no_value(tmp_path: Path) -> None:
    write_run(tmp_path, {})
    writer = SeriesWriter(tmp_path, 0)
    writer.add_targets(targets(2))
    for step in range(SEGMENT + 4):
        made = table([step, step])
        writer.write(step, without(made, 0) if step % 10 else made)
    writer.close()
    at, line = TrendRun(tmp_path).line(FIRST)
    assert at.tolist() == line.tolist() == list(range(0, SEGMENT + 4, 10))


def test_nan_is_a_value(tmp_path: Path) -> None:
    write_steps(tmp_path, np.asarray([[1.0], [np.nan], [np.inf], [2.0]]), range(4))
    _, line = TrendRun(tmp_path).line(FIRST)
    assert np.isnan(line[1])
    assert line[[0, 2, 3]].tolist() == [1, np.inf, 2]


def test_minus_infinity_is_no_missing_value(tmp_path: Path) -> None:
    """A loss of a likelihood: it stays apart from what was not measured, in the log and turned."""
    for steps in (8, 300):
        values = np.ones((steps, 2))
        values[5, 0] = -np.inf
        write_steps(tmp_path / str(steps), values, range(steps), kind="loss")
        found, line = TrendRun(tmp_path / str(steps)).line(("loss", "layers.0.weight"))
        assert found.tolist() == list(range(steps))
        assert np.isnan(line[5]) and (np.delete(line, 5) == 1).all()


def test_new_targets_take_the_next_columns(tmp_path: Path) -> None:
    write_run(tmp_path, {})
    writer = SeriesWriter(tmp_path, 0)
    known = targets(3)
    for step in range(SEGMENT + 10):
        if step in (0, 5, SEGMENT + 5):
            writer.add_targets([known[writer.columns]])
        writer.write(step, table([step] * writer.columns))
    writer.close()
    run = TrendRun(tmp_path)
    firsts = [run.line(target.key)[0][0] for target in known]
    assert firsts == [0, 5, SEGMENT + 5]


def test_a_reader_follows_a_writer(tmp_path: Path) -> None:
    write_run(tmp_path, {})
    writer = SeriesWriter(tmp_path, 0)
    writer.add_targets(targets(1))
    run = TrendRun(tmp_path)
    for step in range(2 * SEGMENT + 3):
        writer.write(step, table([step]))
        if step % 37 == 0 or step % SEGMENT in (0, 1, SEGMENT - 1):
            run = run.refreshed()
            assert run.line(FIRST)[1].tolist() == list(range(step + 1))
    writer.close()


def test_a_reader_keeps_its_moment_while_another_goes_on(tmp_path: Path) -> None:
    write_run(tmp_path, {})
    writer = SeriesWriter(tmp_path, 0)
    writer.add_targets(targets(2)[:1])
    writer.write(0, table([1]))
    early = TrendRun(tmp_path)
    writer.add_targets(targets(2)[1:])
    for step in range(1, SEGMENT + 3):
        writer.write(step, table([1, 1]))
    writer.close()
    late = early.refreshed()
    for run, steps, count in ((early, 1, 1), (late, SEGMENT + 3, 2)):
        assert (len(run.steps), len(run.line(FIRST)[0]), len(run.targets)) == (steps, steps, count)
    assert late.refreshed() is late


def test_a_training_that_was_started_anew_in_its_folder_is_read_anew(tmp_path: Path) -> None:
    run = tmp_path / "run"
    write_steps(run, np.ones((SEGMENT + 9, 2)), range(SEGMENT + 9))
    early = TrendRun(run)
    shutil.rmtree(run)
    write_steps(run, np.full((5, 1), 2.0), range(5))
    late = early.refreshed()
    assert late.line(FIRST)[1].tolist() == [2.0] * 5
    assert len(late.targets) == 1


def test_a_restart_takes_over_from_its_first_step(tmp_path: Path) -> None:
    write_steps(tmp_path, np.ones((300, 1)), range(300))
    write_steps(tmp_path, np.full((20, 1), 2.0), range(270, 290))
    at, line = TrendRun(tmp_path).line(FIRST)
    assert at.tolist() == list(range(290))
    assert line.tolist() == [1.0] * 270 + [2.0] * 20


def test_a_target_of_several_ranks_is_shown_from_the_first(tmp_path: Path) -> None:
    for rank in (0, 1, 2):
        write_steps(tmp_path, np.full((5, 1), float(rank)), range(5), rank=rank)
    run = TrendRun(tmp_path)
    assert run.ranks_of(FIRST) == [0, 1, 2]
    assert run.line(FIRST)[1].tolist() == [0] * 5
    assert run.line(FIRST, rank=2)[1].tolist() == [2] * 5
    with pytest.raises(TrendError, match="no rank 7"):
        run.line(FIRST, rank=7)


def test_ranks_of_a_pipeline_make_one_table(tmp_path: Path) -> None:
    write_steps(tmp_path, np.ones((4, 1)), range(4), rank=0, kind="grad")
    write_steps(tmp_path, np.full((4, 1), 3.0), range(4), rank=1, kind="param")
    steps, found = TrendRun(tmp_path).table([("param", "layers.0.weight"), FIRST])
    assert steps.tolist() == [0, 1, 2, 3]
    assert found.tolist() == [[3.0, 1.0]] * 4


@settings(max_examples=40, deadline=None)
@given(steps=st.integers(1, 3 * SEGMENT), columns=st.integers(1, 700), seed=st.integers(0, 99))
def test_a_column_of_the_heat_map_is_the_largest_of_its_steps(
    tmp_path_factory: pytest.TempPathFactory, steps: int, columns: int, seed: int
) -> None:
    run = tmp_path_factory.mktemp("run")
    values = np.random.default_rng(seed).lognormal(0, 3, (steps, 2))
    write_steps(run, values, range(steps))
    opened = TrendRun(run)
    heat = opened.heat([t.key for t in opened.targets], columns=columns)
    assert len(heat.steps) <= columns
    assert np.isfinite(heat.values).all()  # all was measured
    assert heat.values.max(1).tolist() == values.astype(np.float32).max(0).tolist()
    if columns >= steps:
        assert (heat.values == values.astype(np.float32).T).all()


def test_thinned_steps_stay_as_every_eighth(tmp_path: Path) -> None:
    write_run(tmp_path, {})
    writer = SeriesWriter(tmp_path, 0, keep_steps=SEGMENT)
    writer.add_targets(targets(1))
    for step in range(4 * SEGMENT):
        writer.write(step, table([step]))
    writer.close()
    at, line = TrendRun(tmp_path).line(FIRST)
    assert at[: 2 * SEGMENT // 8].tolist() == list(range(7, 2 * SEGMENT, 8))
    assert line.tolist() == at.tolist()
    assert at[-SEGMENT:].tolist() == list(range(3 * SEGMENT, 4 * SEGMENT))


def test_other_folders_are_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(TrendError, match="no trends are here"):
        TrendRun(tmp_path)
    for name in ("mine", "sound"):
        write_run(tmp_path / "runs" / name, {})
    with pytest.raises(TrendError, match="no trends are here") as wrong:
        TrendRun(tmp_path / "runs")
    assert wrong.value.hint.endswith("mine, sound")
    (tmp_path / "run.json").write_text('{"format": "trends", "version": 99}')
    with pytest.raises(TrendError, match="version 99"):
        TrendRun(tmp_path)
    assert find_runs(tmp_path) == [tmp_path / "runs" / name for name in ("mine", "sound")]


def test_a_full_disk_leaves_what_was_acknowledged(tmp_path: Path) -> None:
    write_run(tmp_path, {})
    writer = SeriesWriter(tmp_path, 0)
    writer.add_targets(targets(4))
    writer.write(0, table([1, 2, 3, 4]))

    class FullDisk:
        """A log whose disk takes half a record."""

        def __init__(self, log: object) -> None:
            self.log = log

        def write(self, content: bytes) -> int:
            self.log.write(content[:20])
            raise OSError(28, "No space left on device")

        def __getattr__(self, name: str) -> object:
            return getattr(self.log, name)

    whole = writer._log
    writer._log = FullDisk(whole)
    with pytest.raises(OSError, match="No space"):
        writer.write(1, table([5, 6, 7, 8]))
    writer._log = whole
    writer.write(2, table([9, 9, 9, 9]))
    writer.close()
    assert TrendRun(tmp_path).line(FIRST)[0].tolist() == [0, 2]


CHILD = """
import sys
from pathlib import Path
from tests.builder.series.stores import table, targets
from msprobe_core.monitor.store import SeriesWriter, write_run
run = Path(sys.argv[1])
write_run(run, {})
writer = SeriesWriter(run, 0)
writer.add_targets(targets(50))
for step in range(10**6):
    writer.write(step, table([step] * 50))
    print(step, flush=True)
"""


def test_twenty_kills_lose_no_acknowledged_step(tmp_path: Path) -> None:
    chance = random.Random(3)
    for kill in range(20):
        run = tmp_path / str(kill)
        acknowledged = _killed_after(run, chance.choice([1, 250, 256, 257, 511, 513, 700]))
        steps, line = TrendRun(run).line(FIRST)
        assert len(steps) > acknowledged
        assert line.tolist() == steps.tolist() == list(range(len(steps)))


def _killed_after(run: Path, steps: int) -> int:
    """Kill a writer once it has acknowledged so many steps; the last one that it did."""
    command = [sys.executable, "-c", CHILD, str(run)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        last = -1
        for line in writer.stdout:
            last = int(line)
            if last >= steps:
                break
        writer.send_signal(signal.SIGKILL)
        rest = [int(line) for line in writer.stdout if line.endswith("\n")]
    return rest[-1] if rest else last


def test_statistics_are_kept_apart(tmp_path: Path) -> None:
    write_run(tmp_path, {})
    writer = SeriesWriter(tmp_path, 0)
    writer.add_targets(targets(1))
    writer.write(0, np.arange(1, len(STATISTICS) + 1, dtype=np.float32)[:, None])
    writer.close()
    run = TrendRun(tmp_path)
    found = [run.line(FIRST, statistic)[1].tolist() for statistic in STATISTICS]
    assert found == [[float(number)] for number in range(1, len(STATISTICS) + 1)]


@pytest.mark.parametrize("level", [1, 8, 64])
@pytest.mark.parametrize("columns", [[3], [0, 4], list(range(70))])
def test_what_is_fetched_beforehand_is_what_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, level: int, columns: list[int]
) -> None:
    """Each span holds, behind a header, numbers of the statistic that was asked for; what was not
    asked for is not even opened, since that waits for the disk.
    """
    write_steps(tmp_path, some_values(SEGMENT, 80), range(SEGMENT))
    asked: list[tuple[Path, list[tuple[int, int]]]] = []
    monkeypatch.setattr(
        "builder.series.pieces.read_ahead", lambda path, spans: asked.append((path, list(spans)))
    )
    segment = Segment(tmp_path / "rank0" / "a0", 0, SEGMENT - 1, True)
    number = STATISTICS.index("norm")
    opened: list[Path] = []
    load = np.load
    monkeypatch.setattr(np, "load", lambda path, **how: opened.append(path) or load(path, **how))
    segment.expect(number, np.asarray(columns), level)
    (path, spans), header = asked[0], 128
    fetched = {
        row
        for offset, length in spans
        if length > 1
        for row in np.frombuffer(path.read_bytes()[header + offset :][:length], np.float32)
    }
    read = (
        segment.values(number, np.asarray(columns))
        if level == 1
        else segment.largest(number, np.asarray(columns), level)
    )
    assert read is not None
    assert set(read.ravel()) <= fetched
    assert opened == [path]


def test_a_system_that_cannot_fetch_beforehand_reads_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_steps(tmp_path, some_values(SEGMENT + 3, 2), range(SEGMENT + 3))
    wanted = TrendRun(tmp_path).line(FIRST)[1]
    monkeypatch.delattr(os, "posix_fadvise")
    assert (TrendRun(tmp_path).line(FIRST)[1] == wanted).all()
