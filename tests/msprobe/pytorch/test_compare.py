"""Comparing from Python, under today's names and those of before 2025-11."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from builder.errors import InputError
from msprobe.pytorch import compare, compare_distributed
from msprobe.pytorch.compare.pt_compare import pt_compare
from msprobe.pytorch.compare.pt_diff_analyze import pt_diff_analyze


@pytest.fixture
def steps(compared_dumps: Path) -> list[Path]:
    return [compared_dumps / "ranks" / name / "step0" for name in ("rank1", "none")]


def given(
    steps: list[Path], problem: str = "npu_path", benchmark: str = "bench_path"
) -> dict[str, object]:
    files = [str(step / "rank1" / "dump.json") for step in steps]
    return dict(zip((problem, benchmark), files, strict=True))


def test_names_of_today(steps: list[Path], tmp_path: Path) -> None:
    result = pt_compare(given(steps), tmp_path, xlsx=True, fuzzy_match=True)
    assert [file.suffix for file in result.files] == [".xlsx"]
    assert result.findings[0].name == "Torch.mul.0.forward"
    module = importlib.import_module("msprobe.pytorch.compare.distributed_compare")
    module.compare_distributed(steps[0], steps[1], str(tmp_path / "ranks"))
    assert len(list((tmp_path / "ranks").glob("compare_result_rank*.csv"))) == 2
    named = pt_diff_analyze(str(steps[0]), str(steps[1]), tmp_path / "da")
    assert named.files[-1].name.startswith("diff_analyze_")


def test_names_of_before(steps: list[Path], tmp_path: Path) -> None:
    former = given(steps, "npu_json_path", "bench_json_path")
    compare({**former, "stack_json_path": "", "is_print_compare_log": False}, tmp_path, True, False)
    assert [path.suffix for path in tmp_path.iterdir()] == [".csv"]
    compare_distributed(steps[0], steps[1], tmp_path / "ranks", stack_mode=True, highlight=False)
    assert len(list((tmp_path / "ranks").iterdir())) == 2


def test_module_and_function_are_one_name() -> None:
    assert callable(compare)
    assert importlib.import_module("msprobe.pytorch.compare") is compare


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"fuzzy_match": "yes"}, "fuzzy_match: 'yes' is no switch"),
        ({"colour": True}, "colour: no option of compare"),
        ({"data_mapping": "none.yaml"}, "none.yaml: no such file"),
    ],
)
def test_option_that_cannot_be_used_is_said(
    steps: list[Path], tmp_path: Path, options: dict[str, object], words: str
) -> None:
    with pytest.raises(InputError, match=words):
        pt_compare(given(steps), tmp_path, **options)


def test_side_that_is_missing_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="bench_path: missing"):
        pt_compare({"npu_path": "a"}, tmp_path)
    with pytest.raises(InputError, match="leave suffix out"):
        compare_distributed("a", "b", tmp_path, suffix="x")
