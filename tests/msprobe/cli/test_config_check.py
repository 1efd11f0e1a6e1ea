"""`msprobe config_check`: every task, its files, its exit codes, and bad input in one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.msprobe.config_check.tables import pack, sheets
from tests.msprobe.conftest import Run

VERL = "{{'actor_rollout_ref': {{'n': {n}}}}}\n"
SLIME = "--- arguments ---\n  n .... {n}\n--- end of arguments ---\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, layers in (("a", 2), ("b", 3)):
        (tmp_path / f"{name}.sh").write_text(f"torchrun t.py --num-layers {layers}\n")
        (tmp_path / f"{name}.log").write_text(VERL.format(n=layers))
        (tmp_path / f"{name}.txt").write_text(SLIME.format(n=layers))
    (tmp_path / "empty.zip").write_bytes(b"")
    (tmp_path / "folder").mkdir()
    (tmp_path / "expected.yaml").write_text("actor_rollout_ref: {n: 2}\n")
    pack(tmp_path / "other.zip", readme={})
    return tmp_path


def test_pack_and_compare(run: Run, folder: Path) -> None:
    assert run("config_check", "-d", "a.sh").out == "file: config_check_pack.zip\n"
    assert run("config_check", "--dump", "b.sh", "-o", "b.zip").code == 0
    answer = run("config_check", "-c", "config_check_pack.zip", "b.zip")
    assert answer.code == 0
    assert "error   hyperparameters" in answer.out
    assert "pass    env" in answer.out
    found = sheets(folder / "config_check_result" / "result.xlsx")
    assert found["hyperparameters"][1][1:5] == ("num-layers", "num-layers", "2", "3")
    for side in ("bench", "cmp"):
        assert (folder / "config_check_result" / side / "env").is_file()
    again = ["config_check", "-c", "config_check_pack.zip"]
    assert run(*again, "b.zip", "--fail-on", "error").code == 4
    assert run(*again, "config_check_pack.zip", "--fail-on", "warning").code == 0


def test_pack_without_files(run: Run) -> None:
    assert run("config_check", "-d").code == 0


@pytest.mark.parametrize(
    ("task", "result"),
    [
        (["-vc", "a.log", "b.log"], "verl_param_compare_result/hyper_params_compare.csv"),
        (["-sc", "a.txt", "b.txt"], "slime_param_compare_result/hyper_params_compare.csv"),
        (["-vv", "b.log"], "verl_param_verify_result/hyper_params_verify.csv"),
        (["-vv", "expected.yaml", "b.log"], "verl_param_verify_result/hyper_params_verify.csv"),
    ],
)
def test_logs(task: list[str], result: str, run: Run, folder: Path) -> None:
    answer = run("config_check", *task)
    assert answer.code == 0, answer.err
    assert "different" in answer.out
    assert (folder / result).is_file()
    assert run("config_check", *task, "--fail-on", "error", "-o", "elsewhere").code == 4


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["-d", "none.sh"], "none.sh: no such file"),
        (["-d", "a.log"], "no launch script or YAML"),
        (["-d", "-o", "pack.tar"], "ends in .zip"),
        (["-d", "-o", "none/pack.zip"], "is no folder; make it"),
        (["-d", "-o", "folder"], "ends in .zip"),
        (["-c", "none.zip", "other.zip"], "none.zip: is no file"),
        (["-c", "empty.zip", "other.zip"], "empty.zip: is no zip of config_check"),
        (["-c", "other.zip", "other.zip"], "holds nothing of config_check"),
        (["-c", "other.zip", "folder"], "one is a pack and one is not"),
        (["-c", "folder", "folder"], "holds no checkpoint"),
        (["-c", "folder", "folder", "--fail-on", "error"], "checkpoints take --fail-above"),
        (["-c", "other.zip", "other.zip", "--fail-above", "1"], "others take --fail-on"),
        (["-vc", "a.log", "b.log", "--mapping", "x.yaml"], "others take --fail-on"),
        (["-vc", "a.log", "none.log"], "none.log: no such file"),
        (["-vc", "a.log", "a.txt"], "no configuration of verl"),
        (["-vc", "a.log", "folder"], "no log by its name"),
        (["-vc", "a.log", "b.log", "-o", "a.sh"], "a.sh: is a file; give a folder"),
        (["-sc", "a.log", "b.log"], "no whole table of arguments"),
        (["-vv", "none.yaml", "a.log"], "none.yaml: cannot be read as YAML"),
        (["-vv", "a.log", "b.log", "a.txt"], "3 paths; give a log"),
    ],
)
def test_bad_input_is_one_line(arguments: list[str], said: str, run: Run) -> None:
    answer = run("config_check", *arguments)
    assert answer.code == 1
    assert said in answer.err
    assert answer.err.count("\n") == 1
    assert "internal error" not in answer.err


@pytest.mark.parametrize("arguments", [[], ["-d", "-c", "a.zip", "b.zip"], ["-c", "a.zip"]])
def test_wrong_usage(arguments: list[str], run: Run) -> None:
    with pytest.raises(SystemExit) as ended:
        run("config_check", *arguments)
    assert ended.value.code == 2
