"""`msprobe ckpt_compare` and `msprobe config_check -c DIR1 DIR2`: files, text and exit codes."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
import torch

from tests.msprobe.conftest import Run

COMMANDS = (["ckpt_compare"], ["config_check", "-c"])


@pytest.fixture
def pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    monkeypatch.chdir(tmp_path)
    weights = {"a.weight": torch.arange(6.0).reshape(2, 3), "b.bias": torch.ones(2)}
    other = {"a.weight": weights["a.weight"] * 1.1, "b.bias": torch.ones(2), "c": torch.ones(1)}
    torch.save(weights, tmp_path / "first.pt")
    torch.save(other, tmp_path / "second.pt")
    return tmp_path / "first.pt", tmp_path / "second.pt"


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_writes_json_and_table_and_names_the_worst(
    command: list[str], run: Run, pair: tuple[Path, Path], tmp_path: Path
) -> None:
    answer = run(*command, *pair)
    assert answer.code == 0, answer.err
    assert "parameters: 1 differs, 1 equal, 1 only second" in answer.out
    assert "a.weight: relative L2 0.0909, cosine 1" in answer.out
    found = json.loads((tmp_path / "ckpt_similarity.json").read_text())
    assert list(found) == ["a.weight", "b.bias"]
    assert list(found["b.bias"].values()) == [0.0, 1.0, 2, [2]]
    with (tmp_path / "ckpt_similarity.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(row["parameter"], row["status"]) for row in rows] == [
        ("a.weight", "differs"),
        ("b.bias", "equal"),
        ("c", "only second"),
    ]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_exit_code_tells_when_asked(command: list[str], run: Run, pair: tuple[Path, Path]) -> None:
    first, second = pair
    assert run(*command, first, first, "-o", "a.json", "--fail-above", "0").code == 0
    assert run(*command, first, second, "-o", "b.json", "--fail-above", "0.5").code == 4
    torch.save({"z": torch.zeros(9)}, first)
    answer = run(*command, first, second, "-o", "c.json")
    assert answer.code == 5
    assert "see --mapping" in answer.out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["none", "second.pt"], "none: does not exist; give a checkpoint"),
        (["first.pt", "second.pt", "-o", "out.txt"], "ends in .json"),
        (["first.pt", "second.pt", "-o", "none/out.json"], "is no folder; make it"),
        (["first.pt", "second.pt", "-o", "there.json"], "exists already; remove it"),
        (["first.pt", "second.pt", "--mapping", "none.yaml"], "none.yaml: cannot be read as YAML"),
        (["first.pt", "empty"], "holds no checkpoint; expected"),
    ],
)
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_bad_input_is_one_line(
    command: list[str], arguments: list[str], said: str, run: Run, pair: tuple[Path, Path]
) -> None:
    folder = pair[0].parent
    (folder / "there.json").write_text("{}")
    (folder / "empty").mkdir()
    answer = run(*command, *arguments)
    assert answer.code == 1
    assert said in answer.err
    assert answer.err.count("\n") == 1
    assert (folder / "there.json").read_text() == "{}"
