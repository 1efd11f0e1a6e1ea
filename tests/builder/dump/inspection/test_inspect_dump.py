"""Inspection of whole dumps: numbers, what is missing, and one answer for one or many processes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from builder.dump.inspection import inspect_dump
from tests.builder.dumps import forward, tensor, write_dump


@pytest.fixture
def tensor_dump(samples: Path, tmp_path: Path) -> Path:
    copy = tmp_path / "dump"
    shutil.copytree(samples / "tensor" / "problem", copy, copy_function=shutil.copyfile)
    for folder in (copy, *copy.rglob("*")):
        folder.chmod(0o755)
    return copy


def test_numbers_of_a_real_dump(samples: Path) -> None:
    found = inspect_dump(samples / "ranks" / "problem")
    assert found.granularity == "root"
    assert [(rank.step, rank.rank) for rank in found.ranks] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    expected = [json.loads((r.path / "dump.json").read_text()) for r in found.ranks]
    assert [rank.entries for rank in found.ranks] == [len(each["data"]) for each in expected]
    files = [f for f in (samples / "ranks" / "problem").rglob("*") if f.is_file()]
    assert found.size == sum(file.stat().st_size for file in files)
    assert found.first_nonfinite is None


def test_lost_tensor_file_is_named(tensor_dump: Path) -> None:
    files = sorted(tensor_dump.rglob("*.pt"))
    files[3].unlink()
    (rank,) = inspect_dump(tensor_dump).ranks
    assert rank.tensor_files == len(files) - 1
    (problem,) = rank.problems
    assert files[3].name in problem
    assert "1 of" in problem


def test_missing_and_broken_files_are_said(tensor_dump: Path) -> None:
    (rank,) = inspect_dump(tensor_dump).ranks
    (rank.path / "construct.json").unlink()
    dump = rank.path / "dump.json"
    dump.write_bytes(dump.read_bytes()[:-40])
    (found,) = inspect_dump(tensor_dump).ranks
    assert found.is_broken
    assert "construct.json is missing" in found.problems
    assert any("broken or truncated" in problem for problem in found.problems)


def test_unfinished_step_is_said(tmp_path: Path) -> None:
    from msprobe_core.writer.step_files import Header, StepFiles

    folder = tmp_path / "step0" / "rank0"
    folder.mkdir(parents=True)
    files = StepFiles(folder, Header("pytorch", "statistics", "L1", None), extra_info=True)
    files.append(['"Torch.a.0.forward": {}'], [], [])
    files.abandon()
    (rank,) = inspect_dump(tmp_path).ranks
    assert rank.entries == 1
    assert any("did not complete" in problem for problem in rank.problems)


def test_several_processes_give_the_same_answer(
    samples: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    module = sys.modules["builder.dump.inspection.inspect_dump"]
    alone = inspect_dump(samples / "nan" / "problem")
    monkeypatch.setattr(module, "_WORTH_PROCESSES", 0)
    monkeypatch.setattr(module, "_PART", 10_000)
    assert inspect_dump(samples / "nan" / "problem") == alone
    assert alone.first_nonfinite is not None


@pytest.mark.parametrize(
    ("smallest", "is_finite"), [(-3.4028234663852886e38, True), ("-inf", False)]
)
def test_a_mask_whose_sums_overflow_is_finite(
    tmp_path: Path, smallest: object, is_finite: bool
) -> None:
    mask = tensor(Max=0.0, Min=smallest, Mean="-inf", Norm="inf")
    write_dump(tmp_path / "step0" / "rank0", {"Torch.add.0.forward": forward([mask], [])})
    assert (inspect_dump(tmp_path).first_nonfinite is None) is is_finite
