"""A batch, a weight or a sequence in another order is seen; another format or device is none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from msprobe.config_check import ConfigChecker, element_order
from msprobe.config_check.element_order import is_same_order, placed_sum
from msprobe.config_check.tensor_statistics import REORDERED, compare_statistics
from msprobe.tensor_summary import summarise
from tests.msprobe.config_check.tables import sheets


def told(tensor: torch.Tensor) -> dict[str, Any]:
    return {**summarise(tensor), "order": placed_sum(tensor)}


def rated(one: torch.Tensor, other: torch.Tensor) -> object:
    (row,) = compare_statistics(
        "dataset", {(0, 0): {"x": told(one)}}, {(0, 0): {"x": told(other)}}
    ).rows
    return row[3]


BATCH = torch.randint(0, 50_000, (8, 512), generator=torch.Generator().manual_seed(1))
CHANGES = {
    "rows": lambda x: x.flip(0),
    "two rows": lambda x: x[[1, 0, *range(2, len(x))]],
    "two elements": lambda x: x.reshape(-1)[[1, 0, *range(2, x.numel())]].view(x.shape),
    "columns": lambda x: x.roll(1, 1),
    "reshaped": lambda x: x.t().reshape(x.shape),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize(
    "dtype", [torch.int64, torch.int32, torch.float32, torch.bfloat16, torch.float64]
)
def test_another_order_of_the_same_elements(change: str, dtype: torch.dtype) -> None:
    batch = BATCH.to(dtype)
    assert rated(batch, CHANGES[change](batch)) == REORDERED
    assert rated(batch, batch.clone()) is True
    assert rated(batch.t().contiguous().t(), batch) is True  # how memory lies is no order


def test_truth_values_and_formats() -> None:
    mask = BATCH % 3 == 0
    assert rated(mask, mask.flip(0)) == REORDERED
    assert rated(BATCH.int(), BATCH.long()) is True
    assert rated(BATCH.double(), BATCH) is True
    assert rated(torch.ones(4, 4), torch.ones(4, 4).flip(0)) is True
    assert rated(torch.tensor([1.0, float("nan")]), torch.tensor([float("nan"), 1.0])) is True


def test_packs_without_the_number_are_compared_without_it() -> None:
    old = summarise(BATCH)
    (row,) = compare_statistics(
        "dataset", {(0, 0): {"x": old}}, {(0, 0): {"x": told(BATCH.flip(0))}}
    ).rows
    assert row[3] is True


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 3000), st.integers(1, 700), st.integers(0, 2**32 - 1))
def test_pieces_and_summation_order_make_no_difference(count: int, chunk: int, seed: int) -> None:
    values = torch.from_numpy(np.random.default_rng(seed).standard_normal(count).astype(np.float32))
    places = np.arange(count, dtype=np.uint64) * np.uint64(2_654_435_769) % np.uint64(2**32)
    expected = float((values.double().numpy() * (places / 2**32 - 0.5)).sum())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(element_order, "_CHUNK", chunk)
        found = placed_sum(values)
    assert found is not None
    assert is_same_order(found, expected, float(values.norm()))
    assert found == pytest.approx(expected, abs=1e-9 * count)


def test_a_shuffled_batch_fails_the_check(tmp_path: Path) -> None:
    from msprobe.config_check.comparison import compare_packs

    for name, batch in (("a", BATCH), ("b", BATCH.flip(0))):
        model = torch.nn.Embedding(50_000, 2)
        ConfigChecker(model=model, output_zip_path=str(tmp_path / f"{name}.zip"))
        torch.manual_seed(0)
        torch.nn.init.normal_(model.weight)
        model(batch)
    compare_packs(tmp_path / "a.zip", tmp_path / "b.zip", tmp_path / "out")
    found = sheets(tmp_path / "out" / "result.xlsx")
    assert ("dataset", "error") in found["summary"]
    assert ("weights", "pass") in found["summary"]
    assert found["dataset"][1][3] == REORDERED
