"""The front door: files, failing pairs, bad input, and nothing half-made under a final name."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

import builder
from builder import BuilderError, BuildOptions, DumpError, OutputError
from builder.processes.second_process import CAN_FORK
from builder.reasons import OptimizerDiffers
from tests.builder.dumps import forward, tensor, write_dump

CALL = "Torch.mm.0.forward"


def dump(root: Path, ranks: int = 1, norm: float = 2.0) -> Path:
    for rank in range(ranks):
        data = {CALL: forward([tensor()], [tensor(norm)])}
        write_dump(root / "step0" / f"rank{rank}", data, {CALL: None})
    return root


def test_two_builds_in_one_second_do_not_collide(tmp_path: Path) -> None:
    ours = dump(tmp_path / "p")
    paths = {builder.build(ours, ours, tmp_path / "o").path for _ in range(3)}
    assert len(paths) == 3
    assert {path.name for path in (tmp_path / "o").iterdir()} == {path.name for path in paths}


@pytest.mark.parametrize("workers", [1, 2])
def test_a_failing_rank_is_an_outcome_and_the_others_finish(tmp_path: Path, workers: int) -> None:
    ours, theirs = dump(tmp_path / "p", 3), dump(tmp_path / "b", 3)
    broken = ours / "step0" / "rank1" / "dump.json"
    broken.write_text(broken.read_text()[:-40])
    result = builder.build(ours, theirs, tmp_path / "o", BuildOptions(workers=workers))
    (failed,) = result.failed
    assert failed.rank == 1
    assert failed.error is not None and str(broken) in failed.error
    assert sorted(outcome.rank for outcome in result.outcomes) == [0, 1, 2]
    with sqlite3.connect(result.path) as connection:
        found = connection.execute("SELECT rank FROM graph WHERE status = 'failed'").fetchall()
    connection.close()
    assert found == [(1,)]
    diagnosis = builder.diagnose(result.path)
    assert [(f["step"], f["rank"]) for f in diagnosis.failed] == [(0, 1)]


def test_a_rank_that_lost_its_values_fails_alone_and_is_named(tmp_path: Path) -> None:
    ours, theirs = dump(tmp_path / "p", 3), dump(tmp_path / "b", 3)
    lost = ours / "step0" / "rank1" / "dump.json"
    lost.unlink()
    result = builder.build(ours, theirs, tmp_path / "o")
    assert [(o.rank, o.error) for o in result.failed] == [
        (1, f"{lost}: missing, and other ranks have it; dump or copy it again")
    ]
    assert result.mode == "statistics"
    assert sorted((o.rank, o.mode) for o in result.outcomes if o.error is None) == [
        (0, "statistics"),
        (2, "statistics"),
    ]


def test_a_rank_without_construct_is_a_flat_graph_among_others(tmp_path: Path) -> None:
    ours, theirs = dump(tmp_path / "p", 2), dump(tmp_path / "b", 2)
    (ours / "step0" / "rank1" / "construct.json").unlink()
    result = builder.build(ours, theirs, tmp_path / "o")
    assert result.failed == ()
    assert all(outcome.unmatched_problem == 0 for outcome in result.outcomes)


def test_paths_may_hold_anything(tmp_path: Path) -> None:
    ours = dump(tmp_path / "a + b 数据 #1%")
    result = builder.build(ours, ours, tmp_path / "结果 +out")
    assert result.path.exists()
    assert builder.diagnose(result.path).matched == 1


@pytest.mark.parametrize("name", ["dump.json", "construct.json", "stack.json"])
@pytest.mark.parametrize("text", ["", "{", '{"a": [1, 2', "[]", '{"data": 3}', "\x00\xff"])
def test_broken_files_fail_their_pair_with_their_path(tmp_path: Path, name: str, text: str) -> None:
    ours = dump(tmp_path / "p")
    (ours / "step0" / "rank0" / name).write_text(text)
    result = builder.build(ours, None, tmp_path / "o")
    if result.failed:
        assert result.failed[0].error is not None
        assert name in result.failed[0].error
        assert "report this" not in result.failed[0].error
    else:
        assert name != "dump.json"


@pytest.mark.parametrize("place", ["missing", "file"])
def test_an_input_that_is_no_dump_makes_no_file(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(DumpError, match=place):
        builder.build(tmp_path / place, None, tmp_path / "o")
    assert not (tmp_path / "o").exists()


def test_an_output_that_is_a_file_is_named(tmp_path: Path) -> None:
    ours = dump(tmp_path / "p")
    (tmp_path / "o").write_text("x")
    for output in (tmp_path / "o", tmp_path / "o" / "below"):
        with pytest.raises(OutputError, match="choose another -o"):
            builder.build(ours, None, output)


def test_an_interrupted_build_leaves_nothing(tmp_path: Path) -> None:
    ours = dump(tmp_path / "p", 3)

    def interrupt(done: int, total: int, outcome: object) -> None:
        raise KeyboardInterrupt

    for workers in (1, 2):
        with pytest.raises(KeyboardInterrupt):
            builder.build(ours, ours, tmp_path / "o", BuildOptions(workers=workers), interrupt)
    assert list((tmp_path / "o").iterdir()) == []


def test_a_killed_build_leaves_nothing_under_a_final_name(tmp_path: Path) -> None:
    ours = dump(tmp_path / "p", 400)
    code = f"import builder; builder.build({str(ours)!r}, {str(ours)!r}, {str(tmp_path / 'o')!r})"
    process = subprocess.Popen([sys.executable, "-c", code])
    while not list(tmp_path.glob("o/*.partial")):
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert list((tmp_path / "o").glob("*.vis.db")) == []


@pytest.mark.skipif(not CAN_FORK, reason="processes are looked for below /proc")
@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_build_that_is_stopped_leaves_no_process(tmp_path: Path, stop: signal.Signals) -> None:
    ours = dump(tmp_path / "p", 400)
    command = ["graph_visualize", "-tp", ours, "-gp", ours, "-o", tmp_path / "o"]
    process = subprocess.Popen(
        [sys.executable, "-m", "msprobe", *map(str, command)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # so that all that it starts can be found by it
    )
    while len(_session(process.pid)) < 2:
        assert process.poll() is None, "ended before it was stopped"
    os.kill(process.pid, stop)
    process.wait()
    while left := _session(process.pid):  # killed ones take a moment
        time.sleep(0.01)
    assert left == []


def _session(leader: int) -> list[int]:
    """The living processes of a session, by the sixth field of their `stat`."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, *numbers = stat.read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if state != "Z" and int(numbers[2]) == leader:
            found.append(int(stat.parent.name))
    return found


def test_manual_pairs_that_no_rank_has_are_an_error(tmp_path: Path) -> None:
    ours = dump(tmp_path / "p")
    mapping = tmp_path / "x.mapping.json"
    mapping.write_text('{"version": 1, "pairs": [{"problem": "A.b.0.forward", "benchmark": "c"}]}')
    with pytest.raises(BuilderError, match=r"x\.mapping\.json: no step and rank has both"):
        builder.build(ours, ours, tmp_path / "o", BuildOptions(manual_mapping=mapping))


def test_mappings_need_a_benchmark(tmp_path: Path) -> None:
    ours = dump(tmp_path / "p")
    with pytest.raises(BuilderError, match="give a benchmark"):
        builder.build(ours, None, tmp_path / "o", BuildOptions(fuzzy_match=True))


def test_a_parameter_that_differs_after_a_clean_step_names_the_optimizer(tmp_path: Path) -> None:
    module = "Module.fc.Linear.forward.0"

    def side(root: Path, weight: float) -> Path:
        for step, w in enumerate((2.0, weight)):
            entry = forward([tensor()], [tensor(w)], parameters={"weight": tensor(w)})
            grads = {"weight": [tensor(3.0)]}
            data = {module: entry, "Module.fc.Linear.parameters_grad.0": grads}
            write_dump(root / f"step{step}" / "rank0", data, {module: None})
        return root

    result = builder.build(side(tmp_path / "p", 2.5), side(tmp_path / "b", 2.2), tmp_path / "o")
    (found,) = result.findings
    assert (found.step, found.name, found.kind) == (1, module, "parameter_differs")
    assert OptimizerDiffers(0) in found.reasons


def test_what_a_step_inherits_is_no_finding_of_its_own(tmp_path: Path) -> None:
    module = "Module.fc.Linear.forward.0"

    def side(root: Path, out: float, weight: float) -> Path:
        for step, w in enumerate((2.0, weight)):
            entry = forward([tensor()], [tensor(out)], parameters={"weight": tensor(w)})
            write_dump(root / f"step{step}" / "rank0", {module: entry}, {module: None})
        return root

    ours, theirs = side(tmp_path / "p", 3.0, 2.5), side(tmp_path / "b", 2.0, 2.2)
    (found,) = builder.build(ours, theirs, tmp_path / "o").findings
    assert (found.step, found.kind, found.propagated_to) == (0, "introduced", 1)


def test_diagnose_refuses_what_is_no_result_database(tmp_path: Path) -> None:
    other = tmp_path / "x.vis.db"
    other.write_text("no database")
    with pytest.raises(BuilderError, match=r"x\.vis\.db: is damaged or no database"):
        builder.diagnose(other)
    with pytest.raises(BuilderError, match="no such file"):
        builder.diagnose(tmp_path / "none.vis.db")
