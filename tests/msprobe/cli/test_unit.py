"""A plan, its units and the join from the command line: eight shards, one left out and made up."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.builder.run.units.runs import layout, ranks, rows_of
from tests.msprobe.conftest import Run

SHARDS = 8


@pytest.fixture
def sides(tmp_path: Path) -> list[object]:
    problem = ranks(tmp_path / "p", steps=2, count=5, fault=True)
    benchmark = ranks(tmp_path / "b", steps=2, count=5)
    return ["graph_visualize", "-tp", problem, "-gp", benchmark]


def test_eight_shards_with_one_left_out_and_made_up(
    run: Run, sides: list[object], tmp_path: Path
) -> None:
    direct = run(*sides, "-o", tmp_path / "direct", "--workers", 1)
    out = tmp_path / "out"
    planned = run(*sides, "-o", out, "--plan")
    assert planned.code == 0
    assert "units: 10 that read" in planned.out
    assert f"plan: {out}/plan.json" in planned.out
    for shard in range(SHARDS):
        if shard != 5:
            assert run("unit", out / "plan.json", "--shard", f"{shard}/{SHARDS}").code == 0
    refused = run("join", out)
    assert refused.code == 1
    assert re.search(r"1 missing: step\d_rank\d ", refused.err)
    made_up = run("unit", out, "--shard", f"5/{SHARDS}")
    assert "units: 1 of 10, 0 done before, 1 run, 0 failed" in made_up.out
    again = run("unit", out)
    assert "10 of 10, 10 done before, 0 run" in again.out
    joined = run("join", out / "plan.json")
    assert joined.code == 0
    said = [line for line in joined.out.splitlines() if not line.startswith("file: ")]
    assert said == direct.out.splitlines()[:-1], "it says what one process says"
    (one,), (other,) = (folder.glob("*.vis.db") for folder in (out, tmp_path / "direct"))
    assert rows_of(one) == rows_of(other)


def test_a_unit_that_fails_is_told_by_the_exit_code(
    run: Run, sides: list[object], tmp_path: Path
) -> None:
    (tmp_path / "p" / "step0" / "rank1" / "dump.json").write_text("{")
    run(*sides, "-o", tmp_path / "out", "--plan")
    one = run("unit", tmp_path / "out", "--unit", "step0_rank1")
    assert (one.code, "1 failed" in one.out) == (3, True)
    run("unit", tmp_path / "out")
    assert run("join", tmp_path / "out").code == 3


def test_units_left_out_may_be_joined_around(run: Run, sides: list[object], tmp_path: Path) -> None:
    run(*sides, "-o", tmp_path / "out", "--plan")
    run("unit", tmp_path / "out", "--shard", "0/2")
    joined = run("join", tmp_path / "out", "--allow-missing", "-o", tmp_path / "joined")
    assert joined.code == 3
    assert "10 in mode statistics, 5 failed" in joined.out
    assert len(list((tmp_path / "joined").iterdir())) == 1


@pytest.mark.parametrize("shard", ["8/8", "x", "-1/2", "1"])
def test_a_shard_that_does_not_exist_is_a_usage_error(
    run: Run, shard: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        run("unit", "plan.json", f"--shard={shard}")
    assert "no shard like 0/8" in capsys.readouterr().err


def test_a_unit_that_the_plan_has_not_is_named(
    run: Run, sides: list[object], tmp_path: Path
) -> None:
    run(*sides, "-o", tmp_path / "out", "--plan")
    answer = run("unit", tmp_path / "out", "--unit", "step9_rank0")
    assert answer.code == 1
    assert "--unit step9_rank0: the plan has no such unit; it has step0_rank0" in answer.err


def test_a_plan_runs_nothing(run: Run, sides: list[object], tmp_path: Path) -> None:
    answer = run(*sides, "-o", tmp_path, "--plan", "--executor", "ray")
    assert (answer.code, "--plan runs nothing" in answer.err) == (1, True)


def test_local_processes_are_an_executor_too(run: Run, sides: list[object], tmp_path: Path) -> None:
    answer = run(*sides, "-o", tmp_path / "out", "--executor", "local", "--workers", 2)
    assert answer.code == 0
    assert "pairs: 10 in mode statistics, 0 failed" in answer.out


def test_ranks_that_are_joined_are_read_in_a_turn_of_their_own(run: Run, tmp_path: Path) -> None:
    problem, benchmark = layout(tmp_path / "p", 2, fault=True), layout(tmp_path / "b", 1)
    sides = ["graph_visualize", "-tp", problem, "-gp", benchmark]
    run(*sides, "-o", tmp_path / "direct", "--workers", 1)
    out = tmp_path / "out"
    assert "units: 8 that read" in run(*sides, "-o", out, "--plan").out
    early = run("unit", out, "--kind", "reduce", "--shard", "0/2")
    assert (early.code, "1 of 8, 0 done before, 1 run, 1 failed" in early.out) == (3, True)
    assert "step0 needs step0_problem_rank0" in early.err
    for shard in ("0/2", "1/2"):
        read = run("unit", out, "--kind", "map", "--shard", shard)
        assert "units: 3 of 8, 0 done before, 3 run, 0 failed" in read.out
    assert "2 of 8, 0 done before, 2 run, 0 failed" in run("unit", out, "--kind", "reduce").out
    assert run("join", out).code == 0
    (one,), (other,) = (folder.glob("*.vis.db") for folder in (out, tmp_path / "direct"))
    assert rows_of(one) == rows_of(other)


def test_a_split_result_is_a_small_file_beside_its_volumes(
    run: Run, sides: list[object], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    run(*sides, "-o", out, "--plan")
    run("unit", out)
    whole, split = run("join", out, "-o", tmp_path / "one"), run("join", out, "--split")
    assert whole.out.splitlines()[:-1] == split.out.splitlines()[:-1]
    (one,), (index,) = (tmp_path / "one").glob("*.vis.db"), out.glob("*.vis.db")
    folder = index.with_name(index.name.replace(".vis.db", ".volumes"))
    assert len(list(folder.iterdir())) == 10
    told = [run("diagnose", file).out.replace(str(file), "") for file in (one, index)]
    assert told[0] == told[1]
    html = tmp_path / "report.html"
    assert run("diagnose", index, "--html", html).code == run("diagnose", one).code
    assert "gelu" in html.read_text()
