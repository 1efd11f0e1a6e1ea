"""Values saved in one place and compared in another, by the names that users import."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from msprobe.core import SingleComparator, SingleSave
from msprobe.errors import CheckError
from msprobe.single_save.agreement import agreement

SAMPLE = (
    Path(__file__).parents[2] / "samples" / "tools-26.2.0" / "checks" / "single_comparator_h.xlsx"
)


@pytest.fixture(autouse=True)
def _forgotten() -> Iterator[None]:
    yield
    SingleSave._instance = None


def rows(file: Path) -> list[tuple[Any, ...]]:
    (sheet,) = openpyxl.load_workbook(file)
    return list(sheet.iter_rows(values_only=True))


def save(folder: Path, *data: dict[str, Any]) -> Path:
    SingleSave(str(folder))
    for each in data:
        SingleSave.save(each)
    return folder


def compared(
    tmp_path: Path, first: dict[str, Any], second: dict[str, Any]
) -> list[tuple[Any, ...]]:
    """The rows of the tag `t`, without step, rank, micro step and id."""
    left, right = save(tmp_path / "a", first), save(tmp_path / "b", second)
    SingleComparator.compare(str(left), str(right), str(tmp_path / "out"), num_processes=1)
    return [row[4:] for row in rows(tmp_path / "out" / "t.xlsx")[1:]]


def test_layout_is_that_of_the_peer(tmp_path: Path) -> None:
    SingleSave(str(tmp_path))
    for _ in range(2):
        SingleSave.save({"h": torch.arange(4.0).reshape(2, 2), "l": [torch.ones(2), torch.ones(3)]})
        SingleSave.save({"h": torch.ones(1)})
        SingleSave.step()
    SingleSave.save_ex({"e": torch.ones(3)}, micro_batch=5)
    SingleSave.save_ex({"e": {"k": torch.ones(3)}})
    found = {str(file.relative_to(tmp_path)) for file in tmp_path.rglob("*.npy")}
    assert found == {
        *(f"data/h/step{s}/rank0/micro_step{m}/h.npy" for s in (0, 1) for m in (0, 1)),
        *(f"data/l/step{s}/rank0/micro_step0/l.{i}.npy" for s in (0, 1) for i in (0, 1)),
        "data/e/step2/rank0/micro_step5/e.npy",
        "data/e/step2/rank0/e.k.npy",
    }
    text = (tmp_path / "data/h/step0/rank0/micro_step0/h.json").read_text()
    assert json.loads(text) == {
        "data": {"max": 3.0, "min": 0.0, "mean": 1.5, "norm": 14**0.5, "shape": [2, 2]}
    }


def test_header_and_cells_of_the_sample(tmp_path: Path) -> None:
    """The sample's inputs are not kept; its cells follow from a factor of 1 + 1e-4."""
    expected = rows(SAMPLE)
    torch.manual_seed(0)
    values = [torch.randn(3, 4) for _ in range(4)]
    for name, factor in (("a", 1.0), ("b", 1.0001)):
        SingleSave(str(tmp_path / name))
        for step in range(2):
            for micro in range(2):
                SingleSave.save({"h": values[2 * step + micro] * factor})
            SingleSave.step()
    SingleComparator.compare(str(tmp_path / "b"), str(tmp_path / "a"), str(tmp_path / "out"))
    found = rows(tmp_path / "out" / "h.xlsx")
    assert found[0] == expected[0]
    assert [row[:8] for row in found] == [row[:8] for row in expected]
    assert [row[10:] for row in found] == [row[10:] for row in expected]
    for ours, theirs in zip(found[1:], expected[1:], strict=True):
        assert [type(cell) for cell in ours] == [type(cell) for cell in theirs]
        assert ours[9] == pytest.approx(theirs[9], rel=1e-2)


def test_unlike_shapes_are_not_cut_to_a_common_corner(tmp_path: Path) -> None:
    found = compared(tmp_path, {"t": torch.ones(2, 3)}, {"t": torch.ones(2, 4)})
    assert found == [("[2, 3]", "[2, 4]", *[None] * 6)]


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ([1.0, math.nan], [1.0, math.nan], (100, None, 0, 0, 100, 100)),
        ([1.0, math.nan], [1.0, 2.0], (50, 1, "inf", "inf", 50, 50)),
        ([1.0, 2.0], [1.0, math.nan], (50, 1, "inf", "inf", 50, 50)),
        ([math.inf, 1.0], [math.inf, 1.0], (100, None, 0, 0, 100, 100)),
        ([math.inf, 1.0], [-math.inf, 1.0], (50, 0, "inf", "inf", 50, 50)),
        ([0.0, 1.0], [1e-9, 1.0], (50, 0, 1e-9, 1, 50, 50)),
        ([1e-9, 1.0], [0.0, 1.0], (50, 0, 1e-9, "inf", 50, 50)),
    ],
)
def test_what_is_not_finite_is_no_zero(
    first: list[float], second: list[float], expected: tuple[Any, ...], tmp_path: Path
) -> None:
    as_tensors = [torch.tensor(side, dtype=torch.float64) for side in (first, second)]
    (row,) = compared(tmp_path, {"t": as_tensors[0]}, {"t": as_tensors[1]})
    assert row[2:] == pytest.approx(expected)


def test_values_of_one_side_are_rows(tmp_path: Path) -> None:
    left = save(tmp_path / "a", {"t": [torch.ones(2), torch.ones(1)], "u": torch.ones(1)})
    right = save(tmp_path / "b", {"t": [torch.ones(2)]}, {"t": [torch.ones(3)]})
    SingleComparator.compare(str(left), str(right), str(tmp_path / "out"), num_processes=1)
    table = rows(tmp_path / "out" / "t.xlsx")[1:]
    assert [row[:6] for row in table] == [
        (0, 0, 0, 0, "[2]", "[2]"),
        (0, 0, 0, 1, "[1]", "missing"),
        (0, 0, 1, 0, "missing", "[3]"),
    ]
    assert rows(tmp_path / "out" / "u.xlsx")[1][4:6] == ("[1]", "missing")


def test_everything_that_can_be_nested_is_saved(tmp_path: Path) -> None:
    value = {
        "a": torch.ones(2),
        "n": None,
        "s": "text",
        "i": 3,
        "deep": [[torch.ones(1)], {"x": 2.5}],
    }
    (first, *others) = compared(tmp_path, {"t": value}, {"t": value})
    assert first[2] == 100
    names = {file.stem for file in (tmp_path / "a").rglob("*.npy")}
    assert names == {"t.a", "t.i", "t.deep.0.0", "t.deep.1.x"}
    assert len(others) == 3
    text = next((tmp_path / "a").rglob("t.json")).read_text()
    assert json.loads(text)["data"]["n"] is None
    assert json.loads(text)["data"]["s"] == "text"


@pytest.mark.parametrize(
    "tensor",
    [
        torch.ones(2, dtype=torch.bfloat16),
        torch.ones(2, dtype=torch.float8_e4m3fn),
        torch.ones(2, dtype=torch.complex64),
        torch.tensor([True, False]),
        torch.ones(0),
        torch.tensor(2.0),
        torch.ones(2, requires_grad=True),
        torch.ones(4, 4).t()[::2],
        torch.tensor([2**62, 2**62 + 1]),
    ],
    ids=str,
)
def test_every_kind_of_tensor_is_equal_to_itself(tensor: torch.Tensor, tmp_path: Path) -> None:
    (row,) = compared(tmp_path, {"t": tensor}, {"t": tensor})
    assert row[0] == row[1] == str(list(tensor.shape))
    assert row[2] == (100 if tensor.numel() else None)


def test_large_integers_are_told_apart(tmp_path: Path) -> None:
    first, second = torch.tensor([2**62]), torch.tensor([2**62 + 1])
    (row,) = compared(tmp_path, {"t": first}, {"t": second})
    assert row[2:5] == (0, 0, 1)


def test_several_at_a_time_write_what_one_writes(tmp_path: Path) -> None:
    data = {tag: torch.arange(3.0) for tag in ("t", "u", "v")}
    left, right = save(tmp_path / "a", data), save(tmp_path / "b", data)
    for count in (1, 2):
        out = tmp_path / f"out{count}"
        SingleComparator.compare(str(left), str(right), str(out), num_processes=count)
    for tag in data:
        assert rows(tmp_path / "out1" / f"{tag}.xlsx") == rows(tmp_path / "out2" / f"{tag}.xlsx")


def test_configuration_is_saved_without_secrets(tmp_path: Path) -> None:
    SingleSave(str(tmp_path))
    SingleSave.save_config({"lr": 1e-4, "api_key": "abc9def8"})
    found = json.loads((tmp_path / "configurations.json").read_text())
    assert found == {"lr": 1e-4, "api_key": "<redacted>"}


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (torch.ones(1), "Tensor given; give {tag: value}"),
        ({"a/b": torch.ones(1)}, "tag 'a/b'"),
        ({"..": torch.ones(1)}, "tag '..'"),
        ({1: torch.ones(1)}, "tag 1"),
        ({"t": torch.ones(1), "u": {"k": object()}}, "u.k is a object"),
        ({"t": {"../x": torch.ones(1)}}, "holds a /"),
    ],
)
def test_what_cannot_be_saved_is_named_and_nothing_is_written(
    data: Any, said: str, tmp_path: Path
) -> None:
    SingleSave(str(tmp_path))
    with pytest.raises(CheckError) as raised:
        SingleSave.save(data)
    assert said in str(raised.value)
    assert list(tmp_path.iterdir()) == []


def test_folder_comes_first(tmp_path: Path) -> None:
    with pytest.raises(CheckError, match="call SingleSave"):
        SingleSave.save({"t": torch.ones(1)})
    with pytest.raises(CheckError, match="no dump_path"):
        SingleSave()
    (tmp_path / "file").write_text("")
    with pytest.raises(CheckError, match="is a file; give a folder"):
        SingleSave(str(tmp_path / "file"))


def test_folders_that_cannot_be_compared(tmp_path: Path) -> None:
    saved = save(tmp_path / "a", {"t": torch.ones(1)})
    other = save(tmp_path / "b", {"u": torch.ones(1)})
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("")
    for second, said in (
        (tmp_path / "none", "is no folder"),
        (tmp_path / "empty", "holds no data"),
        (other, "no tag is in both"),
    ):
        with pytest.raises(CheckError, match=said):
            SingleComparator.compare(str(saved), str(second), str(tmp_path / "out"))
    with pytest.raises(CheckError, match="is a file; give a folder"):
        SingleComparator.compare(str(saved), str(saved), str(tmp_path / "file"))
    next(saved.rglob("*.npy")).write_bytes(b"no array")
    with pytest.raises(CheckError, match="is no NumPy array"):
        SingleComparator.compare(str(saved), str(saved), str(tmp_path / "out"))


FLOATS = st.floats(width=32) | st.sampled_from([0.0, 1.0, math.nan, math.inf])


@given(st.lists(st.tuples(FLOATS, FLOATS), min_size=1, max_size=12))
def test_measures_against_a_loop(pairs: list[tuple[float, float]]) -> None:
    first, second = (np.array(side, dtype=np.float32) for side in zip(*pairs, strict=True))
    found = agreement(first, second)
    equal = [a == b or (a != a and b != b) for a, b in pairs]  # noqa: PLR0124
    assert found.equal == pytest.approx(100 * sum(equal) / len(pairs))
    assert found.first_mismatch == (equal.index(False) if False in equal else None)
    errors = [
        0.0 if same else abs(a - b) if math.isfinite(a - b) else math.inf
        for (a, b), same in zip(pairs, equal, strict=True)
    ]
    assert found.max_absolute == pytest.approx(max(errors))
    assert found.within_hundredth is not None
    assert found.within_thousandth is not None
    assert found.equal is not None
    assert found.equal <= found.within_thousandth <= found.within_hundredth


@pytest.mark.parametrize("name", ["SingleSave", "config_check"])
def test_a_training_process_loads_neither_builder_nor_writer(name: str) -> None:
    heavy = "{'builder', 'xlsxwriter'}"
    code = f"import sys; from msprobe.core import {name}; print({heavy} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
