"""The commands of the pre-check: flags, files, messages and exit codes."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.msprobe.acc_check.calls import SAMPLE
from tests.msprobe.conftest import Run

RECORDED = SAMPLE.parents[1]


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    """Three calls of the recorded sample: enough for what a command does around them."""
    content = json.loads(SAMPLE.read_text())
    kept = ("Functional.linear.0", "Functional.gelu.0", "Torch.argmax.0")
    content["data"] = {
        name: entry for name, entry in content["data"].items() if name.startswith(kept)
    }
    path = tmp_path / "dump.json"
    path.write_text(json.dumps(content))
    return path


def table(folder: Path, part: str) -> list[dict[str, str]]:
    (path,) = folder.glob(f"accuracy_checking_{part}_*.csv")
    assert re.fullmatch(rf"accuracy_checking_{part}_\d{{14}}\.csv", path.name)
    assert path.read_bytes().startswith(b"\xef\xbb\xbf")
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def recorded_header(part: str) -> str:
    (path,) = (RECORDED / "cpu_ok").glob(f"*_{part}_*.csv")
    return path.read_text("utf-8").splitlines()[0]


def test_tables_are_those_that_users_know(run: Run, dump: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    answer = run("acc_check", "-api_info", dump, "-o", out)
    assert answer.code == 0
    assert "calls: 3 in" in answer.out
    assert "3 pass, 0 warning, 0 error, 0 SKIP" in answer.out
    for part in ("result", "details"):
        (path,) = out.glob(f"*_{part}_*.csv")
        assert path.read_text("utf-8").splitlines()[0] == recorded_header(part)
    result = {row["API name"]: row for row in table(out, "result")}
    assert result["Functional.linear.0"]["Backward Test Success"] == "pass"
    assert result["Torch.argmax.0"]["Backward Test Success"] == " "
    names = [row["API Name"] for row in table(out, "details")]
    assert names[0] == "Functional.linear.0.forward.output.0"
    assert "Functional.linear.0.backward.output.2" in names


def test_numbers_have_one_form(run: Run, dump: Path, tmp_path: Path) -> None:
    config = tmp_path / "config.json"
    config.write_text('{"acc_check": {"white_list": ["gelu"], "precision": 5}}')
    run("acc_check", "-api_info", dump, "-o", tmp_path / "out", "-config", config)
    (row, backward) = table(tmp_path / "out", "details")
    columns = [c for c in row if c not in ("API Name", "Status", "Message", "Shape")]
    numbers = [each[c] for each in (row, backward) for c in columns if "Dtype" not in c]
    assert all(cell == " " or re.fullmatch(r"\d+\.\d{5}", cell) for cell in numbers), numbers


def test_run_that_broke_is_taken_up(run: Run, dump: Path, tmp_path: Path) -> None:
    run("acc_check", "-api_info", dump, "-o", tmp_path / "out")
    (path,) = (tmp_path / "out").glob("*_result_*.csv")
    whole = path.read_text("utf-8").splitlines(keepends=True)
    path.write_text("".join(whole[:2]), "utf-8")
    answer = run("acc_check", "-api_info", dump, "-csv_path", path)
    assert "taken up: 1 calls had their rows already" in answer.out
    names = [row["API name"] for row in table(tmp_path / "out", "result")]
    assert sorted(names) == ["Functional.gelu.0", "Functional.linear.0", "Torch.argmax.0"]


@pytest.mark.parametrize("words", [("run_ut",), ("-f", "pytorch", "run_ut")])
def test_former_command_lines_work(
    run: Run, dump: Path, tmp_path: Path, words: tuple[str, ...]
) -> None:
    answer = run(*words, "-api_info", dump, "-o", tmp_path / "out", "-d", "cpu", "-f")
    assert answer.code == 0
    assert len(table(tmp_path / "out", "result")) == 3


@pytest.mark.parametrize(
    "words", [("multi_acc_check",), ("--framework", "pytorch", "multi_run_ut")]
)
def test_several_processes_check_every_call_once(
    run: Run, dump: Path, tmp_path: Path, words: tuple[str, ...]
) -> None:
    answer = run(*words, "-api_info", dump, "-o", tmp_path / "out", "-n", "2", "-d", "cpu", "cpu")
    assert answer.code == 0
    names = [row["API name"] for row in table(tmp_path / "out", "result")]
    assert sorted(names) == ["Functional.gelu.0", "Functional.linear.0", "Torch.argmax.0"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["dump.json", "out"]


def test_data_of_what_is_not_right_are_kept_and_the_code_says_so(
    run: Run, dump: Path, tmp_path: Path
) -> None:
    # By the binary standard a right float32 result is an error.
    out = tmp_path / "some.where"
    answer = run(
        *("acc_check", "-api_info", dump, "-o", out, "-save_error_data"),
        *("--standard", "binary", "--fail-on-error"),
    )
    assert answer.code == 4
    (folder,) = out.glob("ut_error_data*")
    names = {path.name for path in folder.iterdir()}
    assert {
        "Functional.gelu.0.forward.input.0.pt",
        "Functional.gelu.0.forward.output.bench.0.pt",
        "Functional.gelu.0.forward.output.device.0.pt",
        "Functional.gelu.0.backward.output.device.0.pt",
    } <= names


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("-api_info", "none.json"), "none.json"),
        (("-api_info", "{dump}", "-d", "cuda:9"), "device cuda:9: cannot be used here"),
        (("-api_info", "{dump}", "-d", "99"), "device 99: "),
        (("-api_info", "{dump}", "-csv_path", "other.csv"), "no accuracy_checking_result_"),
        (("-api_info", "{dump}", "-config", "none.json"), "none.json"),
    ],
)
def test_mistake_is_one_line_and_leaves_nothing(
    run: Run, dump: Path, tmp_path: Path, arguments: tuple[str, ...], words: str
) -> None:
    given = [each.format(dump=dump) for each in arguments]
    answer = run("acc_check", *given, "-o", tmp_path / "out")
    assert (answer.code, answer.err.count("\n")) == (1, 1)
    assert words in answer.err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "arguments",
    [("acc_check",), ("multi_acc_check", "-api_info", "x", "-n", "65")],
)
def test_wrong_usage_ends_with_code_2(run: Run, arguments: tuple[str, ...]) -> None:
    with pytest.raises(SystemExit) as ended:
        run(*arguments)
    assert ended.value.code == 2


def test_dump_of_which_nothing_can_be_run_is_said(run: Run, tmp_path: Path) -> None:
    entry = {"input_args": [], "input_kwargs": {}, "output": []}
    path = tmp_path / "dump.json"
    data = {"Distributed.barrier.0.forward": entry}
    path.write_text(json.dumps({"framework": "pytorch", "data": data}))
    answer = run("acc_check", "-api_info", path, "-o", tmp_path / "out")
    assert answer.code == 5
    (row,) = table(tmp_path / "out", "result")
    assert row["Forward Test Success"] == "SKIP"
    assert "communication" in row["Message"]


def test_two_devices_are_rated(run: Run, tmp_path: Path) -> None:
    (npu,) = (RECORDED / "cpu_faulty").glob("*details*")
    (gpu,) = (RECORDED / "cpu_ok").glob("*details*")
    answer = run("api_precision_compare", "-npu", npu, "-gpu", gpu, "-o", tmp_path)
    assert answer.code == 0
    assert "calls: 1 SKIP, 19 pass, 8 error" in answer.out
    names = sorted(path.name[:-19] for path in tmp_path.iterdir())
    assert names == ["api_precision_compare_details", "api_precision_compare_result"]


@pytest.mark.parametrize("name", ["Functional.linear.0", "Functional.gelu.0.forward"])
def test_script_of_a_call_runs_alone(run: Run, dump: Path, tmp_path: Path, name: str) -> None:
    script = tmp_path / "alone" / "repro.py"
    assert run("op_generate", "-i", dump, "-n", name, "-o", script).code == 0
    command = [sys.executable, "-I", script, "cpu"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert "output 0: torch.float32 (4, 16), largest error" in done.stdout
    assert "gradient" in done.stdout
    assert " nan" not in done.stdout


def test_script_of_an_unknown_call_is_refused(run: Run, dump: Path, tmp_path: Path) -> None:
    answer = run("op_generate", "-i", dump, "-n", "Torch.mul.3", "-o", tmp_path / "r.py")
    assert (answer.code, answer.err.count("\n")) == (1, 1)
    assert "no such call in the dump" in answer.err


@pytest.mark.parametrize("content", ["empty", "structure"])
def test_a_dump_with_nothing_to_check_is_no_success(run: Run, tmp_path: Path, content: str) -> None:
    data = {"Torch.exp.0.forward": {}} if content == "structure" else {}
    head = {"task": "structure", "level": "L1", "framework": "pytorch", "dump_data_dir": None}
    (tmp_path / "dump.json").write_text(json.dumps({**head, "data": data}))
    words = ("-api_info", tmp_path / "dump.json", "-o", tmp_path / "out", "-d", "cpu")
    assert run("acc_check", *words).code == 5


def test_calls_of_mindspore_need_mindspore(run: Run, mindspore_dumps: Path, tmp_path: Path) -> None:
    (dump,) = (mindspore_dumps / "small" / "mix-statistics").rglob("dump.json")
    if find_spec("mindspore") is not None:
        pytest.skip("MindSpore is installed here")
    answer = run("acc_check", "-api_info", dump, "-o", tmp_path / "out")
    assert (answer.code, answer.err.count("\n")) == (1, 1)
    assert "needs MindSpore, which is not installed: pip install" in answer.err
    assert not (tmp_path / "out").exists()
    script = run("op_generate", "-i", dump, "-n", "Mint.add.0", "-o", tmp_path / "script.py")
    assert (script.code, script.err.count("\n")) == (1, 1)
    assert "scripts are written of calls of PyTorch only" in script.err
