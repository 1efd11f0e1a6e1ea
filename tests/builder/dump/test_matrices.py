"""Tensors that are multiplied with matrices before they are compared."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from builder.dump.matrices import read_matrices
from builder.errors import MappingError
from builder.tables.comparing import TableOptions, compare_into_tables
from tests.builder.dumps import forward, tensor, write_dump
from tests.builder.tables.recorded import read_table

NAMES = [f"Torch.add.{call}.forward.output.0.pt" for call in range(4)]


@pytest.fixture
def rotated(tmp_path: Path) -> Path:
    """Four tensors; the problem's are rotated from the right, the left, both, and not at all."""
    torch.manual_seed(0)
    plain = [torch.randn(6, 4) for _ in NAMES]
    right = torch.linalg.qr(torch.randn(4, 4)).Q
    left = torch.linalg.qr(torch.randn(6, 6)).Q
    torch.save(right.T.contiguous(), tmp_path / "right.pt")
    np.save(tmp_path / "left.npy", left.T.numpy())
    turned = [plain[0] @ right, left @ plain[1], left @ plain[2] @ right, plain[3]]
    for side, tensors in (("problem", turned), ("benchmark", plain)):
        data = {}
        for name, values in zip(NAMES, tensors, strict=True):
            entry = tensor(float(values.norm()), shape=[6, 4], data_name=name)
            data[name.removesuffix(".output.0.pt")] = forward([], [entry])
            file = tmp_path / side / "rank0" / "dump_tensor_data" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            torch.save(values.clone(), file)
        write_dump(tmp_path / side / "rank0", data, task="tensor")
    return tmp_path


def config(folder: Path, text: str) -> Path:
    file = folder / "matrices.yaml"
    file.write_text(text.replace("FOLDER", str(folder)))
    return file


ALL = f"""
right_matmul:
  target_tensor_map:
    FOLDER/right.pt: [{NAMES[0]}]
left_matmul:
  target_tensor_map:
    FOLDER/left.npy: [{NAMES[1]}]
left_right_matmul:
  left_target_tensor_map: {{FOLDER/left.npy: [{NAMES[2]}]}}
  right_target_tensor_map: {{FOLDER/right.pt: [{NAMES[2]}]}}
"""


def test_rotation_is_undone(rotated: Path) -> None:
    sides = rotated / "problem", rotated / "benchmark"
    plain = read_table(compare_into_tables(*sides, rotated / "plain").files[0])[1]
    assert [float(row["Cosine"]) > 0.999 for row in plain] == [False, False, False, True]
    options = TableOptions(matrices=config(rotated, ALL))
    result = compare_into_tables(*sides, rotated / "out", options)
    rows = read_table(result.files[0])[1]
    assert all(float(row["Cosine"]) > 0.999999 for row in rows)
    assert all(float(row["MaxAbsErr"]) < 1e-5 for row in rows)
    factors = [row["Reason"].replace(f"{rotated}/", "") for row in rows]
    assert factors[:3] == [
        "compared as NPU · right.pt",
        "compared as left.npy · NPU",
        "compared as left.npy · NPU · right.pt",
    ]
    assert result.outcomes[0].notes == ()


def test_benchmark_can_be_turned_instead(rotated: Path) -> None:
    torch.save(torch.load(rotated / "right.pt").T.contiguous(), rotated / "back.pt")
    text = f"right_matmul: {{golden_tensor_map: {{FOLDER/back.pt: [{NAMES[0]}]}}}}"
    options = TableOptions(matrices=config(rotated, text))
    result = compare_into_tables(
        rotated / "problem", rotated / "benchmark", rotated / "out", options
    )
    rows = read_table(result.files[0])[1]
    assert float(rows[0]["Cosine"]) > 0.999999
    assert rows[0]["Reason"].endswith("compared as Bench · " + str(rotated / "back.pt"))


def test_what_does_not_fit_or_is_not_there_is_said(rotated: Path) -> None:
    text = f"left_matmul: {{target_tensor_map: {{FOLDER/right.pt: [{NAMES[0]}, none.pt]}}}}"
    options = TableOptions(matrices=config(rotated, text))
    result = compare_into_tables(
        rotated / "problem", rotated / "benchmark", rotated / "out", options
    )
    first, second = result.outcomes[0].notes
    assert first == f"{NAMES[0]}: no matrix fits [6, 4], compared as it is"
    assert second.startswith("none.pt: no such tensor in ")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("- a", "the file holds no names with values"),
        ("up_matmul: {target_tensor_map: {}}", "up_matmul: target_tensor_map is unknown"),
        ("left_matmul: {target_tensor_map: {FOLDER/none.pt: [a]}}", "none.pt: missing"),
        ("left_matmul: {target_tensor_map: {FOLDER/left.npy: a}}", "no list"),
        ("left_matmul: [", "cannot be read"),
        (
            f"left_matmul: {{target_tensor_map: {{FOLDER/problem/rank0/dump.json: [{NAMES[0]}]}}}}",
            "dump.json",
        ),
    ],
)
def test_what_is_wrong_in_the_file_is_named(rotated: Path, text: str, words: str) -> None:
    with pytest.raises(MappingError) as raised:
        read_matrices(config(rotated, text))
    assert words in str(raised.value)
    assert str(raised.value).startswith(str(rotated / "matrices.yaml"))


def test_runs_without_tensors_are_refused(rotated: Path, samples: Path) -> None:
    sides = [samples / "statistics" / side / "step0" for side in ("problem", "bench")]
    options = TableOptions(matrices=config(rotated, ALL))
    (outcome,) = compare_into_tables(sides[0], sides[1], rotated / "out", options).outcomes
    assert "record both with task tensor, or leave --config out" in str(outcome.error)
