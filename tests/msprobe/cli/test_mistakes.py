"""A stranger's mistakes, the same for every command: each ends in one line that says what to do."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from msprobe.cli.program import COMMANDS
from tests.msprobe.conftest import Run

# {} is the path that is wrong.
COMMAND_LINES = {
    "graph_visualize": "graph_visualize -tp {} -gp good -o out",
    "graph_visualize, benchmark": "graph_visualize -tp good -gp {} -o out",
    "graph_visualize, alone": "graph_visualize -tp {} -o out",
    "compare": "compare -tp {} -gp good -o out",
    "compare, benchmark": "compare -tp good -gp {} -o out",
    "compare, -da": "compare -tp {} -gp good -o out -da",
    "compare, former": "compare -i {} -o out",
    "compare, --config": "compare -tp good -gp good -o out --config {}",
    "compare, -dm": "compare -tp good -gp good -o out -dm {}",
    "compare, -cm": "compare -tp good -gp good -o out -cm {}",
    "compare, -lm": "compare -tp good -gp good -o out -lm {}",
    "merge_result": "merge_result -i {} -o out -config api.yaml",
    "merge_result, -config": "merge_result -i good -o out -config {}",
    "overflow_check": "overflow_check -i {} -o out",
    "check": "check {}",
    "inspect": "inspect {}",
    "diagnose": "diagnose {}",
    "acc_check": "acc_check -api_info {} -o out",
    "acc_check, -config": "acc_check -api_info good/step0/rank0/dump.json -o out -config {}",
    "api_precision_compare": "api_precision_compare -npu {} -gpu {} -o out",
    "op_generate": "op_generate -i {} -n Functional.linear.0 -o out.py",
    "config_check, -d": "config_check -d {} -o out.zip",
    "config_check, -c": "config_check -c {} {} -o out.json",
    "config_check, -vc": "config_check -vc {} {} -o out",
    "config_check, -sc": "config_check -sc {} {} -o out",
    "config_check, -vv": "config_check -vv {} -o out",
    "ckpt_compare": "ckpt_compare {} {} -o out.json",
    "unit": "unit {}",
    "join": "join {}",
}
WRONG = ("nothing", "empty", "other")


@pytest.fixture
def place(samples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A good dump, an empty folder, and a folder that holds something else."""
    rank = next((samples / "statistics" / "bench" / "step0").iterdir())
    shutil.copytree(rank, tmp_path / "good" / "step0" / "rank0")
    (tmp_path / "empty").mkdir()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "readme.txt").write_text("nothing of ours")
    (tmp_path / "api.yaml").write_text("api: [Torch]")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("line", list(COMMAND_LINES.values()), ids=list(COMMAND_LINES))
@pytest.mark.usefixtures("place")
def test_wrong_path_is_one_line_with_the_path_and_the_next_step(
    run: Run, line: str, wrong: str
) -> None:
    answer = run(*line.format(*[wrong] * line.count("{}")).split())
    assert answer.code == 1
    assert answer.err.count("\n") == 1
    assert wrong in answer.err
    assert "; " in answer.err
    assert "internal error" not in answer.err
    assert "Errno" not in answer.err


@pytest.mark.parametrize(
    "line",
    [
        "graph_visualize -tp {} -gp good -o out",
        "compare -tp {} -gp good -o out",
        "compare -tp good -gp {} -o out -da",
        "overflow_check -i {} -o out",
        "inspect {}",
    ],
)
def test_truncated_dump_is_named_and_never_a_silent_0(run: Run, place: Path, line: str) -> None:
    shutil.copytree(place / "good", place / "cut")
    file = place / "cut" / "step0" / "rank0" / "dump.json"
    file.write_bytes(file.read_bytes()[:3000])
    answer = run(*line.format("cut").split())
    assert answer.code == 3
    said = answer.out + answer.err
    assert "dump.json: broken or truncated JSON" in said
    assert "Traceback" not in said


@pytest.mark.parametrize("command", [c.__name__.rpartition(".")[2] for c in COMMANDS])
def test_help_answers(run: Run, capsys: pytest.CaptureFixture[str], command: str) -> None:
    with pytest.raises(SystemExit) as ended:
        run(command, "--help")
    assert ended.value.code == 0
    assert command in capsys.readouterr().out
