"""A build in units: however it is cut and whatever happens on the way, the rows are the same."""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import builder
from builder import BuildOptions, InputError, OutputError
from builder.run.build import Request
from builder.run.executor import LocalProcesses
from builder.run.units.plan_file import BuildPlan, read_plan, share_of
from builder.run.units.running import build_over, join_build, plan_build, run_units
from builder.run.units.unit_work import StoredParts
from builder.storage.local_folder import LocalFolder
from builder.work.outcome import PairOutcome
from tests.builder.run.units.runs import Rows, layout, ranks, rows_of
from tests.told import facts

ONE = LocalProcesses(1)
UNITS = {"ranks": 4, "layout": 8}  # two ranks against one in two steps


def _dumps(root: Path, kind: str) -> tuple[Path, Path]:
    if kind == "layout":
        return layout(root / "problem", 2, fault=True), layout(root / "benchmark", 1)
    problem, benchmark = ranks(root / "problem", fault=True), ranks(root / "benchmark")
    shutil.rmtree(benchmark / "step1" / "rank2")  # one side alone has it
    (problem / "step0" / "rank2" / "dump.json").write_text('{"data": {"half')  # fails
    (problem / "step1" / "rank0" / "dump.json").unlink()  # known to be broken
    return problem, benchmark


@pytest.fixture(scope="module")
def direct(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[Path, Path, Rows]]:
    """Two dumps with the rows that one process writes for them."""
    made: dict[str, tuple[Path, Path, Rows]] = {}

    def of(kind: str) -> tuple[Path, Path, Rows]:
        if kind not in made:
            root = tmp_path_factory.mktemp(kind)
            problem, benchmark = _dumps(root, kind)
            options = BuildOptions(workers=1)
            result = builder.build(problem, benchmark, root / "direct", options)
            made[kind] = problem, benchmark, rows_of(result.path)
        return made[kind]

    return of


def test_the_dumps_hold_what_joining_could_lose(
    direct: Callable[..., tuple[Path, Path, Rows]],
) -> None:
    rows = direct("ranks")[2]
    filled = {"communication", "finding", "flow", "form", "graph", "node", "record", "stack"}
    assert {table for table, found in rows.items() if found} >= filled
    assert {row[10] for row in rows["graph"]} == {"ok", "failed", "missing"}
    joined = direct("layout")[2]
    assert joined["shard"]
    assert joined["layout"]


def test_notes_of_the_plan_reach_the_result(tmp_path: Path) -> None:
    sides = ranks(tmp_path / "p", steps=1), ranks(tmp_path / "b", steps=1, count=2)
    direct = builder.build(*sides, tmp_path / "direct", BuildOptions(workers=1))
    plan = plan_build(*map(str, sides), str(tmp_path / "units"), BuildOptions())
    run_units(str(tmp_path / "units"), plan.units, ONE)
    joined = join_build(str(tmp_path / "units"))
    assert rows_of(joined.path) == rows_of(direct.path)
    assert "not_merged" in [facts(reason)["code"] for reason in joined.summary]


# A counter-example is small enough as it is; making it smaller takes minutes.
@settings(max_examples=8, phases=(Phase.explicit, Phase.reuse, Phase.generate))
@given(
    kind=st.sampled_from(["ranks", "ranks", "layout"]),
    shards=st.integers(1, 7),
    seed=st.integers(0, 2**16),
    workers=st.integers(1, 2),
)
def test_any_cut_in_any_order_with_repeats_gives_the_rows_of_one_process(
    direct: Callable[..., tuple[Path, Path, Rows]],
    tmp_path_factory: pytest.TempPathFactory,
    kind: str,
    shards: int,
    seed: int,
    workers: int,
) -> None:
    problem, benchmark, rows = direct(kind)
    out = tmp_path_factory.mktemp("out")
    chosen = random.Random(seed)
    plan = plan_build(str(problem), str(benchmark), str(out), BuildOptions())
    assert len(plan.units) == UNITS[kind]
    runs = [share_of(plan.units, shard, shards) for shard in range(shards)]
    runs += [[unit] for unit in chosen.choices(plan.units, k=2)]
    chosen.shuffle(runs)
    work = StoredParts(plan.id, str(out / "parts"), plan.request.instructions())
    for units in runs:
        run_units(str(out), units, LocalProcesses(workers))
        if units and chosen.random() < 0.3:
            work.attempt(units[0].pair, 1)  # by somebody who did not see that it is done
    assert rows_of(join_build(str(out)).path) == rows


def test_one_command_over_an_executor_gives_the_same_and_leaves_the_result_alone(
    direct: Callable[..., tuple[Path, Path, Rows]], tmp_path: Path
) -> None:
    problem, benchmark, rows = direct("ranks")
    request = Request(str(problem), str(benchmark), BuildOptions())
    result = build_over(request, str(tmp_path), LocalProcesses(2))
    assert [path.name for path in tmp_path.iterdir()] == [result.path.name]
    assert rows_of(result.path) == rows


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """The folder of a plan over three ranks whose units are done."""
    problem, benchmark = ranks(tmp_path / "p", steps=1, fault=True), ranks(tmp_path / "b", steps=1)
    plan = plan_build(str(problem), str(benchmark), str(tmp_path / "out"), BuildOptions())
    run_units(str(tmp_path / "out"), plan.units, ONE)
    return tmp_path / "out"


def _part(run: Path, unit: str) -> Path:
    (found,) = (run / "parts").glob(f"{unit}.*.part")
    return found


def test_planning_again_changes_nothing(run: Path, tmp_path: Path) -> None:
    before = (run / "plan.json").read_bytes()
    plan_build(str(tmp_path / "p"), str(tmp_path / "b"), str(run), BuildOptions())
    assert (run / "plan.json").read_bytes() == before


def test_another_plan_never_replaces_one(run: Path, tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="plan of another comparison"):
        plan_build(str(tmp_path / "p"), str(tmp_path / "b"), str(run), BuildOptions(threshold=0.5))


def test_a_unit_left_out_is_named_and_made_up(run: Path) -> None:
    (run / "parts" / "step0_rank1.json").unlink()
    with pytest.raises(InputError, match=r"1 missing: step0_rank1 .*no such file"):
        join_build(str(run))
    again = run_units(str(run), read_plan(LocalFolder(run)).units, ONE)
    assert [outcome.rank for outcome in again] == [1]
    assert not join_build(str(run)).failed


def test_a_unit_left_out_is_a_failed_pair_where_that_is_allowed(run: Path) -> None:
    (run / "parts" / "step0_rank1.json").unlink()
    result = join_build(str(run), allow_missing=True)
    (failed,) = result.failed
    assert failed.rank == 1
    assert "unit missing" in str(failed.error)


@pytest.mark.parametrize("left", [None, 100])
def test_a_part_that_is_not_whole_is_named_and_made_up(run: Path, left: int | None) -> None:
    part = _part(run, "step0_rank2")
    if left is None:
        part.unlink()
    else:
        part.write_bytes(part.read_bytes()[:left])
    with pytest.raises(InputError, match=rf"1 partial: step0_rank2 .*{part.name}"):
        join_build(str(run))
    run_units(str(run), read_plan(LocalFolder(run)).units, ONE)
    assert not join_build(str(run)).failed


def test_a_part_whose_bytes_are_others_is_named(run: Path) -> None:
    part = _part(run, "step0_rank2")
    part.write_bytes(b"x" * part.stat().st_size)
    with pytest.raises(InputError, match="no part of unit step0_rank2"):
        join_build(str(run))
    assert not list(run.glob("*.partial"))


def test_parts_exchanged_under_their_markers_are_named(run: Path) -> None:
    one, other = _part(run, "step0_rank0"), _part(run, "step0_rank2")
    marker = run / "parts" / "step0_rank0.json"
    facts = json.loads(marker.read_text())
    shutil.copy(other, one)
    marker.write_text(json.dumps({**facts, "bytes": other.stat().st_size}))
    with pytest.raises(InputError, match=r"no part of unit step0_rank0 .*unit step0_rank2"):
        join_build(str(run))


@pytest.mark.parametrize("name", ["{home}", "../../home", "step0_rank1.part", "a\0b", "..", ""])
def test_a_marker_that_names_no_part_of_its_unit_is_none(
    run: Path, tmp_path: Path, name: str
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "thesis.txt").write_text("years")
    marker = run / "parts" / "step0_rank0.json"
    facts = json.loads(marker.read_text())
    marker.write_text(json.dumps({**facts, "file": name.format(home=home), "bytes": 1}))
    with pytest.raises(InputError, match=r"1 partial: step0_rank0 .*no marker of a part"):
        join_build(str(run))
    run_units(str(run), read_plan(LocalFolder(run)).units, ONE)
    assert (home / "thesis.txt").exists()
    assert not join_build(str(run)).failed


@pytest.mark.parametrize("step", ["check_rules", "order_findings", "_write_whole"])
def test_a_join_that_fails_at_its_end_leaves_no_volumes(
    run: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    before = sorted(path.name for path in run.iterdir())
    monkeypatch.setattr(f"builder.run.build.{step}", stopped)
    with pytest.raises(KeyboardInterrupt):
        join_build(str(run), split=True)
    assert sorted(path.name for path in run.iterdir()) == before


def test_what_vanishes_among_the_parts_is_no_missing_unit(run: Path) -> None:
    (run / "parts" / ".x").symlink_to(run / "gone")
    assert not join_build(str(run)).failed


def test_parts_of_another_plan_are_foreign(run: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    plan_build(str(tmp_path / "p"), str(tmp_path / "b"), str(other), BuildOptions(threshold=0.5))
    shutil.copytree(run / "parts", other / "parts")
    with pytest.raises(InputError, match=r"3 foreign: step0_rank0, step0_rank1, step0_rank2"):
        join_build(str(other))
    run_units(str(other), read_plan(LocalFolder(other)).units, ONE)
    assert not join_build(str(other)).failed


def test_a_part_of_no_unit_is_foreign(run: Path) -> None:
    (run / "parts" / "step7_rank0.json").write_text("{}")
    with pytest.raises(InputError, match=r"1 foreign: step7_rank0 .*no unit of this plan"):
        join_build(str(run))


def test_a_dump_that_changed_since_the_plan_is_a_failed_unit_that_can_be_run_again(
    tmp_path: Path,
) -> None:
    problem, benchmark = ranks(tmp_path / "p", steps=1), ranks(tmp_path / "b", steps=1)
    out = str(tmp_path / "out")
    plan = plan_build(str(problem), str(benchmark), out, BuildOptions())
    dump = problem / "step0" / "rank0" / "dump.json"
    whole, times = dump.read_bytes(), dump.stat()
    dump.write_bytes(whole + b" ")
    outcomes = run_units(out, plan.units, ONE)
    assert [outcome.rank for outcome in outcomes if outcome.error] == [0]
    assert f"{dump}: {len(whole) + 1} bytes, {len(whole)} when" in str(outcomes[0].error)
    assert [found.rank for found in join_build(out).failed] == [0]
    dump.write_bytes(whole)
    os.utime(dump, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert [outcome.rank for outcome in run_units(out, plan.units, ONE)] == [0]
    assert not join_build(out).failed
    assert len(list((tmp_path / "out" / "parts").iterdir())) == 6, "one marker and one part each"


@pytest.mark.parametrize("name", ["dump.json", "stack.json"])
def test_a_file_of_the_same_size_that_was_written_again_is_named(tmp_path: Path, name: str) -> None:
    problem, benchmark = ranks(tmp_path / "p", steps=1), ranks(tmp_path / "b", steps=1)
    out = str(tmp_path / "out")
    plan = plan_build(str(problem), str(benchmark), out, BuildOptions())
    file = benchmark / "step0" / "rank2" / name
    times = file.stat()
    file.write_bytes(file.read_bytes().replace(b"2", b"3"))
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns + 1))
    failed = [o for o in run_units(out, plan.units, ONE) if o.error]
    assert [outcome.rank for outcome in failed] == [2]
    assert f"{file}: written again since the plan was made" in str(failed[0].error)


def test_a_file_that_is_gone_since_the_plan_is_named(tmp_path: Path) -> None:
    problem, benchmark = ranks(tmp_path / "p", steps=1), ranks(tmp_path / "b", steps=1)
    out = str(tmp_path / "out")
    plan = plan_build(str(problem), str(benchmark), out, BuildOptions())
    file = problem / "step0" / "rank1" / "construct.json"
    file.unlink()
    (failed,) = [o for o in run_units(out, plan.units, ONE) if o.error]
    assert f"{file}: gone since the plan was made" in str(failed.error)


@pytest.fixture
def merged(tmp_path: Path) -> BuildPlan:
    """A plan over two steps of two ranks that are joined, against one."""
    problem = layout(tmp_path / "p", 2, fault=True)
    benchmark = layout(tmp_path / "b", 1)
    return plan_build(str(problem), str(benchmark), str(tmp_path / "out"), BuildOptions())


def test_merged_ranks_are_read_by_units_of_their_own(merged: BuildPlan, tmp_path: Path) -> None:
    units = {unit.id: unit for unit in merged.units}
    step = units["step1"]
    assert step.kind == "reduce"
    assert step.needs == ("step1_problem_rank0", "step1_problem_rank1", "step1_benchmark_rank0")
    assert {units[need].kind for need in step.needs} == {"map"}
    run_units(str(tmp_path / "out"), [units[need] for need in step.needs], ONE)
    for dump in tmp_path.glob("[pb]/step1/rank*/dump.json"):
        times = dump.stat()
        dump.write_bytes(b" " * times.st_size)  # nobody reads it again
        os.utime(dump, ns=(times.st_atime_ns, times.st_mtime_ns))
    (outcome,) = run_units(str(tmp_path / "out"), [step], ONE)
    assert outcome.error is None
    assert outcome.findings


def test_a_step_waits_for_its_ranks_where_nothing_is_made_up(
    merged: BuildPlan, tmp_path: Path
) -> None:
    out = str(tmp_path / "out")
    (outcome,) = run_units(out, merged.results[1:], ONE, make_up=False)
    assert "unit step1 needs step1_problem_rank0, step1_problem_rank1" in str(outcome.error)
    assert not (tmp_path / "out" / "parts").exists()
    with pytest.raises(InputError, match="2 missing: step0, step1 "):
        join_build(out)


def test_a_rank_that_cannot_be_read_fails_its_step(merged: BuildPlan, tmp_path: Path) -> None:
    dump = tmp_path / "p" / "step0" / "rank1" / "dump.json"
    dump.write_text("{")
    out = tmp_path / "again"
    plan = plan_build(str(tmp_path / "p"), str(tmp_path / "b"), str(out), BuildOptions())
    run_units(str(out), [unit for unit in plan.units if unit.kind == "map"], ONE)
    run_units(str(out), plan.results, ONE, make_up=False)
    (failed,) = join_build(str(out)).failed
    assert (failed.step, str(dump) in str(failed.error)) == (0, True)
    assert merged.id != plan.id


def test_a_unit_whose_process_dies_leaves_a_part_that_says_so(run: Path, tmp_path: Path) -> None:
    plan = read_plan(LocalFolder(run))
    other = StoredParts(plan.id, str(tmp_path / "parts"), plan.request.instructions())
    outcome = other.lost(plan.units[0].pair, "killed by signal 9")
    assert "killed by signal 9" in str(outcome.error)
    assert (tmp_path / "parts" / "step0_rank0.json").exists()


def test_a_mapping_that_changed_since_the_plan_is_an_error(tmp_path: Path) -> None:
    problem, benchmark = ranks(tmp_path / "p", steps=1), ranks(tmp_path / "b", steps=1)
    mapping = tmp_path / "pairs.json"
    pair = {"step": None, "rank": None, "problem": "a", "benchmark": "b", "descendants": False}
    mapping.write_text(json.dumps({"version": 1, "pairs": []}))
    options = BuildOptions(manual_mapping=mapping)
    plan = plan_build(str(problem), str(benchmark), str(tmp_path / "out"), options)
    mapping.write_text(json.dumps({"version": 1, "pairs": [pair]}))
    with pytest.raises(InputError, match=r"pairs.json: changed since the plan"):
        run_units(str(tmp_path / "out"), plan.units, ONE)


def test_another_version_of_the_program_is_refused(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("builder.run.units.plan_file.tool_version", lambda: "9.9")
    with pytest.raises(InputError, match=r"this is 9\.9"):
        join_build(str(run))


def test_progress_counts_what_is_left_to_do(run: Path) -> None:
    (run / "parts" / "step0_rank1.json").unlink()
    seen: list[tuple[int, int]] = []

    def progress(done: int, total: int, _: PairOutcome) -> None:
        seen.append((done, total))

    run_units(str(run), read_plan(LocalFolder(run)).units, ONE, progress)
    assert seen == [(1, 1)]
