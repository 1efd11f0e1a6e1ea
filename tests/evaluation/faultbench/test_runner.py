"""Programs differ as their faults say, and the metrics reach both ends of their scale."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
import torch

import faultbench
from faultbench import check, fault, processes, program, runner, table
from faultbench.__main__ import main
from faultbench.processes import RunError, Tool

FEW = ("attention-scale-missing", "quantisation-zero-point-missing", "left-padding-positions")
TWO_RANKS = "row-bias-on-every-rank"


@pytest.mark.parametrize("identifier", [*FEW, TWO_RANKS])
def test_wrong_differs_and_the_twin_does_not(identifier: str, tmp_path: Path) -> None:
    assert list(check.check(identifier, tmp_path, sys.executable)) == []
    one = fault.load(identifier)
    assert check.distance(one, tmp_path, "twin") <= one.sound
    assert check.distance(one, tmp_path, "wrong") > 2 * one.sound


def test_the_right_program_is_right_in_float64(tmp_path: Path) -> None:
    """The attention written out against torch's own, in twice the precision."""
    loaded = program.load(fault.FAULTS / "attention-scale-missing" / "right.py", 1)
    attention = loaded.model.get_submodule("blocks.0.attn").double()
    x = torch.randn(2, 8, 48, dtype=torch.float64)
    parts = attention.get_submodule("qkv")(x).chunk(3, dim=-1)
    heads = [part.unflatten(-1, (4, -1)).transpose(1, 2) for part in parts]
    mixed = torch.nn.functional.scaled_dot_product_attention(*heads, is_causal=True)
    expected = attention.get_submodule("proj")(mixed.transpose(1, 2).flatten(2))
    torch.testing.assert_close(attention(x), expected)


def test_gold_reaches_all_and_null_nothing(tmp_path: Path) -> None:
    for word, found in (("gold", 4), ("null", 0)):
        out = tmp_path / f"{word}.jsonl"
        assert main(["run", f"--{word}", "--id", *FEW, TWO_RANKS, "--out", str(out)]) == 0
        results = table.read(out)
        assert not [result["error"] for result in results if result["error"]]
        assert sum(result["place"] == 1 for result in results) == found
        assert table.METRICS["first"](results) == f"{found}/4"
        assert table.METRICS["false alarms"](results) == "0/4"


def test_torch_alone_finds_a_module(tmp_path: Path) -> None:
    out = tmp_path / "allclose.jsonl"
    assert main(["run", "--tool", "allclose", "--id", FEW[1], "--out", str(out)]) == 0
    wrong, twin = table.read(out)
    assert wrong["rows"][0]["module"] == "first"
    assert wrong["place"] == 1
    assert twin["script"] == "twin.py"
    assert wrong["bytes"] > 0


def test_an_adapter_that_does_not_exist_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--tool", "nothing"]) == 2
    assert "adapters/nothing.py: no such adapter; name one with --tool" in capsys.readouterr().err


def test_a_program_that_takes_too_long_is_an_error(tmp_path: Path) -> None:
    tool = Tool("plain", sys.executable, 0.01)
    with pytest.raises(RunError, match=r"longer than 0\.01 s; --timeout allows more"):
        processes.record(tool, fault.load(FEW[0]), "right.py", tmp_path / "right")


def test_a_tool_that_fails_is_a_result_with_its_error(tmp_path: Path) -> None:
    tool = Tool("peer", sys.executable, 0.01)
    results = list(runner.run(tool, FEW[0], tmp_path))
    assert [result.script for result in results] == ["wrong.py", "twin.py"]
    assert all("longer than" in result.error for result in results)
    assert json.dumps([result.told() for result in results])


def test_certain_and_wrong_counts_the_first_row_alone(tmp_path: Path) -> None:
    sure = {"module": "head", "call": None, "file": "", "line": 0, "certain": True}
    base = {"tool": "t", "script": "wrong.py", "layer": "data", "error": "", "bytes": 1000}
    told = {"record_seconds": 1.0, "answer_seconds": 1.0, "slow_down": 2.0}
    results = [
        {**base, **told, "id": "a", "place": 2, "rows": [sure, sure], "certain_and_wrong": True},
        {**base, **told, "id": "b", "place": 1, "rows": [sure], "certain_and_wrong": False},
    ]
    row = table.table([results]).splitlines()[-1]
    assert row == "| t | 1/2 | 2/2 | 1.5 | 1.5 | 0/0 | 1 | 0 | 2.0 | 1 | 2.0 |"
    assert table.missed(results) == ["a"]


def test_an_adapter_has_fifty_lines_at_most() -> None:
    adapters = [*(Path(faultbench.__file__).parent / "adapters").glob("*.py")]
    assert adapters
    assert max(len(file.read_text(encoding="utf-8").splitlines()) for file in adapters) <= 50
