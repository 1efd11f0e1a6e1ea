"""Kernels that MindSpore keeps with a dimension more are those of PyTorch; other shapes stay."""

from __future__ import annotations

from pathlib import Path

import pytest

import builder
from builder import BuildOptions
from tests.builder.dumps import tensor, write_dump
from tests.builder.result_rows import rows


def conv(folder: Path, framework: str, name: str, kernel: list[int], out: list[int]) -> Path:
    """A dump of one layer: its forward entry with its kernel, and the gradient of that."""
    owner = f"{'Cell' if framework == 'mindspore' else 'Module'}.conv.{name}"
    data: dict[str, object] = {
        f"{owner}.forward.0": {
            "input_args": [tensor(shape=[4, 8, 6])],
            "input_kwargs": {},
            "parameters": {"weight": tensor(shape=kernel)},
            "output": [tensor(shape=out)],
        },
        f"{owner}.parameters_grad.0": {"weight": [tensor(shape=kernel)]},
    }
    return write_dump(folder, data, dict.fromkeys(data), framework=framework)


@pytest.mark.parametrize("ours", ["Conv1d", "Conv1dTranspose"])
def test_the_height_of_a_kernel_in_one_dimension_is_no_difference(
    tmp_path: Path, ours: str
) -> None:
    theirs = "ConvTranspose1d" if ours.endswith("Transpose") else ours
    problem = conv(tmp_path / "p", "mindspore", ours, [6, 8, 1, 3], [4, 6, 4])
    benchmark = conv(tmp_path / "b", "pytorch", theirs, [6, 8, 3], [4, 6, 4])
    for sides in ((problem, benchmark), (benchmark, problem)):
        result = builder.build(*sides, tmp_path / "out", BuildOptions(workers=1))
        assert result.findings == ()
        assert rows(result, "SELECT name FROM node WHERE verdict = 'error' OR score > 0") == []


@pytest.mark.parametrize(
    ("kernel", "out"), [([6, 8, 2, 3], [4, 6, 4]), ([6, 8, 1, 3], [4, 6, 1, 4])]
)
def test_another_shape_is_one(tmp_path: Path, kernel: list[int], out: list[int]) -> None:
    problem = conv(tmp_path / "p", "mindspore", "Conv1d", kernel, out)
    benchmark = conv(tmp_path / "b", "pytorch", "Conv1d", [6, 8, 3], [4, 6, 4])
    result = builder.build(problem, benchmark, tmp_path / "out", BuildOptions(workers=1))
    assert [finding.name for finding in result.findings] == ["Cell.conv.Conv1d.forward.0"]
