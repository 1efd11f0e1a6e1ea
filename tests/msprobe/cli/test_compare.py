"""`msprobe compare` and merge_result: both command lines, exit codes, one line for a mistake."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import nn

from msprobe_core import PrecisionDebugger
from tests.builder.dumps import forward, tensor, write_dump
from tests.builder.tables.recorded import read_table
from tests.msprobe.conftest import Run

Program = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def sides(tmp_path: Path) -> tuple[Path, Path]:
    for side, norm in (("problem", 3.0), ("benchmark", 2.0)):
        data = {"Torch.mul.0.forward": forward([tensor()], [tensor(norm)])}
        write_dump(tmp_path / side / "step0" / "rank0", data)
    return tmp_path / "problem", tmp_path / "benchmark"


def test_says_where_the_table_lies_and_where_it_begins(
    run: Run, sides: tuple[Path, Path], tmp_path: Path
) -> None:
    answer = run("compare", "-tp", sides[0], "-gp", sides[1], "-o", tmp_path / "out")
    assert answer.code == 0
    assert "begins: Torch.mul.0.forward (step 0, rank 0)" in answer.out
    (file,) = (tmp_path / "out" / "step0").iterdir()
    assert f"file: {file}" in answer.out


def test_command_line_of_before_2025_11(
    run: Run, sides: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    paths = {
        f"{name}_path": str(side / "step0" / "rank0" / "dump.json")
        for name, side in zip(("npu", "bench"), sides, strict=True)
    }
    listed = tmp_path / "compare.json"
    listed.write_text(json.dumps({**paths, "stack_path": "", "is_print_compare_log": False}))
    former = ("-f", "pytorch", "compare", "-i", listed, "-o", tmp_path / "out", "-s", "-c", "-hl")
    assert run(*former).code == 0
    assert [path.suffix for path in (tmp_path / "out").iterdir()] == [".csv"]
    listed.write_text('{"npu_path": 3}')
    answer = run(*former)
    assert (answer.code, answer.err.count("\n")) == (1, 1)
    assert "npu_path and bench_path are not both there" in answer.err


def test_output_has_a_default_also_where_the_flag_is_bare(
    run: Run, sides: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("compare", "-tp", sides[0], "-gp", sides[1]).code == 0
    assert run("compare", "-tp", sides[0], "-gp", sides[1], "-da", "-o").code == 0
    assert {path.suffix for path in (tmp_path / "output").rglob("*.*")} == {".csv", ".json"}


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("-m", "torchair"), "-m torchair"),
        (("--rank", "1"), "--rank chooses kernels"),
        (("-ofs",), "-ofs belongs to offline models"),
        (("--consistent_check",), "--consistent_check needs --backend; give fsdp or megatron"),
        (("--backend", "fsdp"), "--backend belongs to --consistent_check"),
        (("--config", "none.yaml"), "none.yaml: no such file"),
        (("-lm", "none.yaml"), "none.yaml"),
        (("-dm", "none.yaml"), "none.yaml"),
        (("-cm", "none.yaml"), "none.yaml"),
        (("-am", "none.yaml"), "none.yaml"),
        (("-tp", "nothing"), "nothing: no such file"),
    ],
)
def test_mistake_is_one_line(
    run: Run, sides: tuple[Path, Path], tmp_path: Path, flags: tuple[str, ...], words: str
) -> None:
    given = ("compare", "-tp", sides[0], "-gp", sides[1], "-o", tmp_path / "out")
    answer = run(*given, *flags)
    assert (answer.code, answer.err.count("\n")) == (1, 1)
    assert words in answer.err
    assert "Traceback" not in answer.err


def test_missing_side_is_said(run: Run, sides: tuple[Path, Path]) -> None:
    answer = run("compare", "-tp", sides[0])
    assert (answer.code, "-gp is missing" in answer.err) == (1, True)


def test_exit_codes_tell_what_can_be_trusted(run: Run, tmp_path: Path) -> None:
    checksum = {"Max": None, "Min": None, "Mean": None, "Norm": None, "md5": "00000001"}
    for side, entry in (("a", tensor()), ("b", tensor(**checksum))):
        write_dump(tmp_path / side / "rank0", {"Torch.mul.0.forward": forward([entry], [entry])})
    answer = run("compare", "-tp", tmp_path / "a", "-gp", tmp_path / "b", "-o", tmp_path / "out")
    assert answer.code == 5  # a task of its own on either side
    assert "note: dumps of unlike tasks, statistics against md5: they have no" in answer.out
    assert "the same task (statistics or tensor) and summary_mode" in " ".join(answer.out.split())
    (table,) = (tmp_path / "out").iterdir()
    _, rows = read_table(table)
    assert {row["Result"] for row in rows} == {"warning"}
    no_measure = '"warning: NPU and Bench have no measure in common."]'
    assert all(row["Err_message"].endswith(no_measure) for row in rows)
    (tmp_path / "a" / "rank0" / "dump.json").write_text("{")
    answer = run("compare", "-tp", tmp_path / "a", "-gp", tmp_path / "b", "-o", tmp_path / "out")
    assert answer.code == 3
    assert "broken or truncated" in answer.out


def test_tensor_dump_against_statistics_is_compared_on_both_ones_and_says_so(
    run: Run, samples: Path, tmp_path: Path
) -> None:
    sides = samples / "tensor" / "problem" / "step0", samples / "statistics" / "bench" / "step0"
    answer = run("compare", "-tp", sides[0], "-gp", sides[1], "-o", tmp_path)
    said = "dumps of unlike tasks, tensor against statistics: compared on the statistics that both"
    assert (answer.code, f"note: {said}" in answer.out) == (0, True)
    _, rows = read_table(next(tmp_path.iterdir()))
    both = [row for row in rows if "torch." in row["NPU Dtype"] and "N/A" not in row["Bench Name"]]
    assert both
    assert all(said in row["Reason"] for row in both)


def test_log_of_tensors_has_two_lines_a_value(
    program: Program, compared_dumps: Path, tmp_path: Path
) -> None:
    sides = [compared_dumps / "tensor" / name / "step0" for name in ("scale", "none")]
    given = ("compare", "-tp", sides[0], "-gp", sides[1], "-o", tmp_path, "-tensor_log")
    _, said = (process := program(*given)).communicate(timeout=120)
    assert process.returncode == 0
    assert len([line for line in said.splitlines() if "[msprobe]" in line]) == 2 * 220


def test_merge_result(run: Run, compared_dumps: Path, tmp_path: Path) -> None:
    sides = [compared_dumps / "ranks" / name / "step0" for name in ("rank1", "none")]
    run("compare", "-tp", sides[0], "-gp", sides[1], "-o", tmp_path)
    config = tmp_path / "merge.yaml"
    config.write_text("api: [Distributed.all_reduce]\n")
    answer = run("merge_result", "-i", tmp_path, "-o", tmp_path / "out", "-config", config)
    assert answer.code == 0
    (file,) = (tmp_path / "out").iterdir()
    assert answer.out == f"file: {file}\n"
    wrong = run("merge_result", "-i", tmp_path / "out", "-o", tmp_path, "-config", config)
    assert (wrong.code, wrong.err.count("\n")) == (1, 1)


@pytest.mark.parametrize("command", ["overflow_check", "nan_analyze"])
def test_overflow_check(run: Run, overflowing_dumps: Path, tmp_path: Path, command: str) -> None:
    answer = run(command, "-i", overflowing_dumps / "weight", "-o", tmp_path)
    assert answer.code == 0
    assert "Module.1.fc1.Linear.forward.0 (step 0, rank 1): the weight" in answer.out
    assert run(command, "-i", overflowing_dumps / "none", "-o", tmp_path).code == 0
    wrong = run(command, "-i", tmp_path / "nothing", "-o", tmp_path)
    assert (wrong.code, wrong.err.count("\n")) == (1, 1)
    write_dump(tmp_path / "empty" / "rank0", {}, {})
    assert run(command, "-i", tmp_path / "empty", "-o", tmp_path).code == 5


class Unguarded(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x / x.sum()


def test_overflow_check_says_module_and_line(run: Run, tmp_path: Path) -> None:
    model = nn.Sequential(Unguarded())
    debugger = PrecisionDebugger(dump_path=str(tmp_path / "dump"), level="mix")
    with debugger.recording(model):
        model(torch.zeros(2))
    debugger.close()
    lines = run("overflow_check", "-i", tmp_path / "dump", "-o", tmp_path).out.splitlines()
    assert lines[0].startswith("begins: Tensor.__truediv__.0.forward (step 0, rank 0): makes NaN")
    assert lines[1] == "   inside Module.0.Unguarded.forward.0"
    assert re.fullmatch(
        rf"   File {re.escape(__file__)}, line \d+, in forward, return x / x\.sum\(\)", lines[2]
    )
    assert lines[3].startswith("file: ")


OTHER_FORM = {
    "format": lambda: {"dtype": "torch.float64"},
    "requires_grad": lambda: {"requires_grad": True},
}


@pytest.mark.parametrize("change", OTHER_FORM)
def test_says_what_is_an_error_although_no_number_differs(
    run: Run, tmp_path: Path, change: str
) -> None:
    for side in ("problem", "benchmark"):
        more = OTHER_FORM[change]() if side == "problem" else {}
        data = {
            "Torch.exp.0.forward": forward([tensor()], [tensor()]),
            "Torch.mul.0.forward": forward([tensor(**more)], [tensor(**more)]),
        }
        write_dump(tmp_path / side / "step0" / "rank0", data)
    sides = ("-tp", tmp_path / "problem", "-gp", tmp_path / "benchmark", "-o", tmp_path / "out")
    for command in ("compare", "graph_visualize"):
        answer = run(command, *sides)
        assert "no difference found" not in answer.out
        if command == "compare":
            assert "begins: no call is named, but rows are rated error (2), first" in answer.out
            assert "first Torch.mul.0.forward.input.0: error: The " in answer.out
        else:
            assert "begins: the runs differ, and where that begins was not found" in answer.out
            assert answer.out.count("first Torch.mul.0.forward") == 2
    (database,) = (tmp_path / "out").glob("*.vis.db")
    answer = run("diagnose", database)
    assert "first Torch.mul.0.forward" in answer.out
    assert "no difference found" not in answer.out
